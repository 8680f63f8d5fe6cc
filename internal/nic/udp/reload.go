package udp

import (
	"errors"
	"slices"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

var _ nic.Reloader = (*Device)(nil)

// errOtherKinds: a reload cannot change which kinds of keys a device has, because all other sides would have to do so, too.
var errOtherKinds = errors.New("udp: there are keys of other kinds than at the start (shared, of each side, none): restart to change that")

// KeyFiles implements nic.Reloader.
func (d *Device) KeyFiles() []string {
	shared, ids, _, err := d.opts.sources()
	if err != nil {
		return nil // Reload will say so
	}
	names := []string{shared.File, ids.PrivateFile, ids.ClientsFile, ids.ServersFile}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}

// Reload implements nic.Reloader. Connections keep their keys.
func (d *Device) Reload() (use func(), err error) {
	if _, _, _, err := d.opts.sources(); err != nil || len(d.KeyFiles()) == 0 {
		return nil, err
	}
	k, err := d.opts.keys(d.listens)
	if err != nil {
		return nil, err
	}
	use, ok := d.guard.Renew(k.shared, k.identity)
	if !ok {
		return nil, errOtherKinds
	}
	return use, nil
}
