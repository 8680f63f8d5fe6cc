package udp

import (
	"github.com/viaduct-hpc/viaduct/bmi/about"
	"github.com/viaduct-hpc/viaduct/internal/environ"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

var _ nic.Describer = Provider{}

// Settings implements nic.Describer.
func (Provider) Settings() []about.Setting {
	return []about.Setting{
		about.FromEnv("nic.key_file", KeyFileEnv, environ.Text(KeyFileEnv)),
		about.SecretFromEnv("nic.key", KeyEnv, environ.Text(KeyEnv)),
		about.FromEnv("nic.private_key_file", PrivateFileEnv, environ.Text(PrivateFileEnv)),
		about.FromEnv("nic.clients_file", ClientsFileEnv, environ.Text(ClientsFileEnv)),
		about.FromEnv("nic.servers_file", ServersFileEnv, environ.Text(ServersFileEnv)),
		about.FromEnv("nic.insecure", InsecureEnv, environ.Text(InsecureEnv)),
		about.FromEnv("nic.data_port", DataPortEnv, environ.Text(DataPortEnv)),
	}
}
