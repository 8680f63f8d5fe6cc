package via

import (
	"fmt"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// withKeys is the provider with the keys of Options.
func withKeys(p nic.Provider, o *Options) (nic.Provider, error) {
	p, err := withKey(p, o.Key)
	if err != nil || o.Identity == nil {
		return p, err
	}
	i, ok := p.(nic.Identified)
	if !ok {
		return nil, fmt.Errorf("%w: Options.Identity is set, and endpoints of the %s NIC have no keys", bmi.ErrInvalid, p.Name())
	}
	p, err = i.WithIdentity(*o.Identity)
	if err != nil {
		return nil, fmt.Errorf("%w: Options.Identity: %w", bmi.ErrInvalid, err)
	}
	return p, nil
}

// withKey is the provider with the key of Options.
func withKey(p nic.Provider, key nic.Key) (nic.Provider, error) {
	if key == nil {
		return p, nil
	}
	k, ok := p.(nic.Keyed)
	if !ok {
		return nil, fmt.Errorf("%w: Options.Key is set, and the %s NIC takes no key", bmi.ErrInvalid, p.Name())
	}
	p, err := k.WithKey(key)
	if err != nil {
		return nil, fmt.Errorf("%w: Options.Key: %w", bmi.ErrInvalid, err)
	}
	return p, nil
}
