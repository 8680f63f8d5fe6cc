package pvfs

import (
	"os"

	"github.com/viaduct-hpc/viaduct/bmi/about"
	"github.com/viaduct-hpc/viaduct/internal/environ"
)

// What package mpi/tool shows. The environment is read when a file is opened, so it can be changed.
func init() {
	about.Register(about.Source{Settings: func(any) []about.Setting {
		all := []about.Setting{
			about.FromEnv("mpi.file.pvfs2tab", tabVariable, environ.Text(tabVariable)),
			about.FromEnv("mpi.file.key_file", keyVariable, environ.Text(keyVariable)),
			about.FromEnv("mpi.file.cert_file", certVariable, "certificate of the user, for PVFS servers; empty: "+certName+" in the home directory"),
		}
		for _, s := range all {
			about.Changeable(all, s.Name, func(value string) error { return os.Setenv(s.Env, value) })
		}
		return all
	}})
}
