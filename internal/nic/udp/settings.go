package udp

import (
	"github.com/viaduct-hpc/viaduct/bmi/about"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

var _ nic.Describer = Provider{}

// Settings implements nic.Describer.
func (Provider) Settings() []about.Setting {
	return []about.Setting{
		about.FromEnv("nic.key_file", KeyFileEnv, "file with the key that all sides share"),
		about.SecretFromEnv("nic.key", KeyEnv, "whether the environment has the key that all sides share"),
		about.FromEnv("nic.private_key_file", PrivateFileEnv, "file with the private key of this endpoint"),
		about.FromEnv("nic.clients_file", ClientsFileEnv, "file with the public keys of endpoints that may connect"),
		about.FromEnv("nic.servers_file", ServersFileEnv, "file with the public keys of endpoints to connect to"),
		about.FromEnv("nic.insecure", InsecureEnv, "1: packets are neither authenticated nor encrypted"),
		about.FromEnv("nic.data_port", DataPortEnv, "second UDP port of a listening endpoint; empty: any"),
	}
}
