package shm

import (
	"github.com/viaduct-hpc/viaduct/bmi/about"
	"github.com/viaduct-hpc/viaduct/internal/environ"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

var _ nic.Describer = Provider{}

// Settings implements nic.Describer.
func (Provider) Settings() []about.Setting {
	return []about.Setting{
		about.FromEnv("nic.dir", DirEnv, environ.Text(DirEnv)),
		about.FromEnv("nic.open_dir", OpenDirEnv, environ.Text(OpenDirEnv)),
		about.FromEnv("nic.other_users", OtherUsersEnv, environ.Text(OtherUsersEnv)),
		about.FromEnv("nic.trust", TrustEnv, environ.Text(TrustEnv)),
		about.FromEnv("nic.no_cma", NoCMAEnv, environ.Text(NoCMAEnv)),
	}
}
