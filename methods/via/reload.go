package via

import (
	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

var _ bmi.Reloader = (*method)(nil)

// KeyFiles implements bmi.Reloader.
func (m *method) KeyFiles() []string {
	if d, ok := m.links.Device().(nic.Reloader); ok {
		return d.KeyFiles()
	}
	return nil
}

// Reload reads the keys of the NIC again (bmi.Reloader).
func (m *method) Reload() (use func(), err error) {
	if d, ok := m.links.Device().(nic.Reloader); ok {
		return d.Reload()
	}
	return nil, nil
}
