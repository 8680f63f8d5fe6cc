package via

import (
	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/bmi/about"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

var _ bmi.Describer = driver{}

// Settings implements bmi.Describer.
func (d driver) Settings(given any) []about.Setting {
	opts, err := options(given)
	if err != nil {
		return nil // the method does not open with them
	}
	prefix := "bmi." + d.Name()
	all := about.Settings(prefix, opts)
	if p, ok := d.provider.(nic.Describer); ok {
		for _, s := range p.Settings() {
			s.Name = prefix + "." + s.Name
			all = append(all, s)
		}
	}
	return all
}
