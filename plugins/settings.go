package plugins

import (
	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/bmi/about"
	"github.com/viaduct-hpc/viaduct/internal/environ"
)

var _ bmi.Describer = (*driver)(nil)

// Settings implements bmi.Describer. Options of the method itself are not known here.
func (d *driver) Settings(any) []about.Setting {
	return about.Settings("bmi."+d.Name()+".plugin", d.plugin.opts)
}

func init() {
	about.Register(about.Source{Settings: func(any) []about.Setting {
		loading.Lock()
		defer loading.Unlock()
		return []about.Setting{
			{Name: "bmi.plugin_paths", Env: PathsEnv, Value: loading.paths, Text: environ.Text(PathsEnv)},
			about.FromEnv("bmi.plugin_env", PassEnv, environ.Text(PassEnv)),
		}
	}})
}
