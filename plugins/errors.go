package plugins

import (
	"errors"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// Errors of operations whose plugin has stopped working. They are also bmi.ErrPeerFailed.
var (
	// ErrDied: the plugin's process ended, or was killed for an error. Unless it died too often,
	// another process replaces it, and later operations go there.
	ErrDied = errors.New("plugins: the plugin died")
	// ErrUnloaded: the plugin was unloaded. An endpoint that has its method open can only be
	// closed.
	ErrUnloaded = errors.New("plugins: the plugin was unloaded")
)

// ErrRefused: Load refuses a file, or the methods that it offers. The text gives the reason and a
// remedy. It wraps an error of package trust or process, or bmi.ErrNameTaken.
var ErrRefused = errors.New("plugins: refused")

// A refusal is the reason why a plugin was not loaded.
type refusal struct{ why error }

func (r *refusal) Error() string   { return "plugins: cannot load: " + r.why.Error() }
func (r *refusal) Unwrap() []error { return []error{ErrRefused, r.why} }

// A taken says which driver already has the name of a method.
type taken struct{ text string }

func (t *taken) Error() string { return t.text }
func (t *taken) Unwrap() error { return bmi.ErrNameTaken }

// A failure is the error of an operation that a plugin had, or would have been given.
type failure struct {
	is   error // ErrDied or ErrUnloaded
	text string
}

func (f *failure) Error() string   { return f.text }
func (f *failure) Unwrap() []error { return []error{f.is, bmi.ErrPeerFailed} }

func died(text string) error { return &failure{ErrDied, "plugins: " + text} }
