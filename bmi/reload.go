package bmi

import (
	"errors"
	"fmt"
)

// A Reloader has keys or certificates that can change while it is open.
type Reloader interface {
	// KeyFiles are the names of the files that Reload reads.
	KeyFiles() []string
	// Reload reads them again. It is called without the method's lock, because reading files and deriving keys take long, and by
	// one goroutine at a time. use applies the new keys to connections that are made from now on. It is called with the lock and
	// returns at once. use is nil if there is nothing to read. After an error nothing has changed.
	Reload() (use func(), err error)
}

// ReloadKeys makes the methods read their keys and certificates again, and returns the names of those that did. Connections that
// exist are not affected, and go on meanwhile. A method with wrong files keeps the keys that it had; the error says which method
// and why.
func (e *Endpoint) ReloadKeys() (methods []string, err error) {
	e.reloading.Lock()
	defer e.reloading.Unlock()
	for _, in := range e.methods() {
		r, ok := in.method.(Reloader)
		if !ok {
			continue
		}
		use, failed := r.Reload()
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("bmi: the keys of %s are as before: %w", in.info.Name, failed))
			continue
		}
		if use != nil && in.apply(use) {
			methods = append(methods, in.info.Name)
		}
	}
	return methods, err
}

// KeyFiles are the names of the files that ReloadKeys reads.
func (e *Endpoint) KeyFiles() (names []string) {
	for _, in := range e.methods() {
		if r, ok := in.method.(Reloader); ok {
			names = append(names, r.KeyFiles()...)
		}
	}
	return names
}

// apply calls a function with the method's lock, unless the method is closing.
func (in *instance) apply(fn func()) bool {
	in.Lock()
	defer in.unlock()
	if in.closing {
		return false
	}
	fn()
	return true
}
