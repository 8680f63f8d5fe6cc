package tcp

import (
	"slices"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/bmi/about"
	"github.com/viaduct-hpc/viaduct/internal/tcp/stack/secure"
)

var (
	_ bmi.Describer = driver{}
	_ bmi.Describer = privateDriver{}
)

// Settings implements bmi.Describer.
func (d driver) Settings(given any) []about.Setting {
	opts, err := options(given)
	if err != nil {
		return nil // the method does not open with them
	}
	// The environment names files for TLS only.
	return slices.DeleteFunc(about.Settings("bmi."+d.name, opts), func(s about.Setting) bool { return s.Env != "" })
}

// A privateDriver is the driver of tcps.
type privateDriver struct{ driver }

// Settings implements bmi.Describer. The files are those that are used: the options' or the
// environment's.
func (d privateDriver) Settings(given any) []about.Setting {
	opts, err := options(given)
	if err != nil {
		return nil
	}
	if opts.TLS == (TLS{}) {
		opts.TLS = secure.FilesFromEnv()
	}
	return about.Settings("bmi."+d.name, opts)
}
