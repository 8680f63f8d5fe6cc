package bmi

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// registry holds the drivers whose methods this process can open.
var registry = struct {
	sync.Mutex
	byName map[string]Driver
}{byName: map[string]Driver{}}

// Register makes a driver available to Open and Lookup under its name. It is called from
// init functions. A second driver of the same name, or one without a name, is a mistake in
// the program and panics.
func Register(d Driver) {
	if err := Add(d); err != nil {
		panic(err)
	}
}

// Add is Register for a driver that is found while the program runs: a bad name gives an
// error instead of a panic.
func Add(d Driver) error {
	name := d.Name()
	registry.Lock()
	defer registry.Unlock()
	if name == "" || strings.Contains(name, "://") {
		return fmt.Errorf("%w: %q is no name for a method", ErrInvalid, name)
	}
	if _, taken := registry.byName[name]; taken {
		return fmt.Errorf("%w: there is a method %q already", ErrNameTaken, name)
	}
	registry.byName[name] = d
	return nil
}

// Remove undoes Add, if the driver is still registered under its name. Endpoints that have
// opened the method keep it.
func Remove(d Driver) {
	registry.Lock()
	defer registry.Unlock()
	if there := registry.byName[d.Name()]; there != nil && same(there, d) {
		delete(registry.byName, d.Name())
	}
}

// same reports whether two drivers of one name are the same driver. Values that cannot be
// compared, such as structs with functions in them, are the same if they have the same
// type.
func same(a, b Driver) bool {
	if reflect.ValueOf(a).Comparable() && reflect.ValueOf(b).Comparable() {
		return a == b
	}
	return reflect.TypeOf(a) == reflect.TypeOf(b)
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
	return nil, &UnknownMethodError{Name: name, Known: slices.Sorted(maps.Keys(registry.byName))}
}

// UnknownMethodError is an ErrUnknownMethod whose text lists the methods of the program.
type UnknownMethodError struct {
	Name  string
	Known []string // of the program, sorted
}

func (e *UnknownMethodError) Error() string {
	if len(e.Known) == 0 {
		return fmt.Sprintf("%v %q: this program carries none, import one", ErrUnknownMethod, e.Name)
	}
	return fmt.Sprintf("%v %q: this program carries %s; import the package of another or load its plugin", ErrUnknownMethod, e.Name, strings.Join(e.Known, ", "))
}

// Unwrap is ErrUnknownMethod.
func (*UnknownMethodError) Unwrap() error { return ErrUnknownMethod }

// schemeOf is the method name in an address.
func schemeOf(address string) (string, error) {
	scheme, _, ok := strings.Cut(address, "://")
	if !ok || scheme == "" {
		return "", fmt.Errorf("%w %q: it must look like method://name", ErrBadAddress, address)
	}
	return scheme, nil
}

// choose picks the first method of an address with alternatives that the program carries,
// and the addresses that belong to that method.
func choose(address string) (scheme, own string, err error) {
	if scheme, err = schemeOf(address); err != nil || !strings.Contains(address, ",") {
		return scheme, address, err
	}
	parts := strings.Split(address, ",")
	schemes := make([]string, len(parts))
	chosen := ""
	for i, part := range parts {
		if schemes[i], err = schemeOf(part); err != nil {
			return "", "", err
		}
		if _, unknown := driverOf(schemes[i]); unknown == nil && chosen == "" {
			chosen = schemes[i]
		}
	}
	if chosen == "" {
		_, err = driverOf(scheme)
		return "", "", err
	}
	var mine []string
	for i, part := range parts {
		if schemes[i] == chosen {
			mine = append(mine, part)
		}
	}
	return chosen, strings.Join(mine, ","), nil
}
