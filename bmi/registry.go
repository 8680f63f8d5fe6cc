package bmi

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// registry holds the drivers that this process can open methods with.
var registry = struct {
	sync.Mutex
	byName map[string]Driver
}{byName: map[string]Driver{}}

// Register makes a driver available to Open and Lookup under its name. It is
// called from init functions; a second driver of one name, or one without a
// name, is a mistake in the program and panics.
func Register(d Driver) {
	name := d.Name()
	registry.Lock()
	defer registry.Unlock()
	if name == "" || strings.Contains(name, "://") {
		panic(fmt.Sprintf("bmi: Register: %q is no name for a method", name))
	}
	if _, taken := registry.byName[name]; taken {
		panic(fmt.Sprintf("bmi: Register: method %q is registered twice", name))
	}
	registry.byName[name] = d
}

// Drivers lists the registered drivers, sorted by name.
func Drivers() []Driver {
	registry.Lock()
	defer registry.Unlock()
	all := make([]Driver, 0, len(registry.byName))
	for _, name := range slices.Sorted(maps.Keys(registry.byName)) {
		all = append(all, registry.byName[name])
	}
	return all
}

// driverOf finds the driver of a method.
func driverOf(name string) (Driver, error) {
	registry.Lock()
	defer registry.Unlock()
	if d := registry.byName[name]; d != nil {
		return d, nil
	}
	known := slices.Sorted(maps.Keys(registry.byName))
	if len(known) == 0 {
		return nil, fmt.Errorf("%w %q: this program carries none, import one", ErrUnknownMethod, name)
	}
	return nil, fmt.Errorf("%w %q: this program carries %s; import the package of another or load its plugin",
		ErrUnknownMethod, name, strings.Join(known, ", "))
}

// schemeOf is the method name in an address.
func schemeOf(address string) (string, error) {
	scheme, _, ok := strings.Cut(address, "://")
	if !ok || scheme == "" {
		return "", fmt.Errorf("%w %q: it must look like method://name", ErrBadAddress, address)
	}
	return scheme, nil
}
