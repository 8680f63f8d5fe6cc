package tool

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi/about"
)

// A Scope says when a Control can be changed (MPI-4.1, 15.3.6).
type Scope uint8

// Scopes.
const (
	Constant Scope = iota // never; MPI_T_SCOPE_CONSTANT
	Local                 // at any time, in each process for itself; MPI_T_SCOPE_LOCAL
)

// String returns the scope's name in documents.
func (s Scope) String() string { return [...]string{"constant", "local"}[s] }

// A Control is a control variable (MPI-4.1, 15.3.6): a setting of the library.
type Control struct {
	Name, Text string
	Category   string
	Env        string // the environment variable that sets it before the program starts; "" if none does
	Verbosity  Verbosity
	Scope      Scope
	Binding    Binding
	// Zero has the type of the values: bool, int, string, or time.Duration.
	Zero any

	t *Interface
	b binding
}

// Controls returns the control variables of the process, by name (MPI_T_cvar_get_num,
// MPI_T_cvar_get_info; MPI-4.1, 15.3.6).
func (t *Interface) Controls() ([]Control, error) {
	if err := t.live(); err != nil {
		return nil, err
	}
	var all []Control
	for _, b := range t.bindings(nil) {
		for _, s := range b.settings() {
			all = append(all, t.control(b, s))
		}
	}
	slices.SortFunc(all, func(a, b Control) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

func (t *Interface) control(b binding, s about.Setting) Control {
	c := Control{
		Name: s.Name, Text: s.Text, Category: categoryOf(s.Name), Env: s.Env,
		Verbosity: verbosityOf(categoryOf(s.Name)), Binding: b.source.Binding, Zero: zeroOf(s.Value), t: t, b: b,
	}
	if s.Set != nil {
		c.Scope = Local
	}
	return c
}

func zeroOf(value any) any {
	switch value.(type) {
	case bool:
		return false
	case int:
		return 0
	case time.Duration:
		return time.Duration(0)
	default:
		return ""
	}
}

// Control returns a control variable (MPI_T_cvar_get_index, MPI_T_cvar_handle_alloc; MPI-4.1,
// 15.3.6). Errors are ErrInvalidName and ErrNotInitialized.
func (t *Interface) Control(name string) (Control, error) {
	all, err := t.Controls()
	if err != nil {
		return Control{}, err
	}
	i, ok := slices.BinarySearchFunc(all, name, func(c Control, name string) int { return cmp.Compare(c.Name, name) })
	if !ok {
		return Control{}, fail(ErrInvalidName, "there is no control variable %.80q; a method has some only in a program that has the method", name)
	}
	return all[i], nil
}

// setting returns the variable as it is now.
func (c Control) setting() (about.Setting, error) {
	if c.t == nil {
		return about.Setting{}, fail(ErrInvalidHandle, "this is no control variable: Interface.Control returns one")
	}
	if err := c.t.live(); err != nil {
		return about.Setting{}, err
	}
	for _, s := range c.b.settings() {
		if s.Name == c.Name {
			return s, nil
		}
	}
	return about.Setting{}, fail(ErrInvalidHandle, "%s is gone: its method is not registered any more", c.Name)
}

// Read returns the value: a bool, int, string or time.Duration (MPI_T_cvar_read; MPI-4.1, 15.3.6).
func (c Control) Read() (any, error) {
	s, err := c.setting()
	return s.Value, err
}

// Write changes the value, from the next operation on (MPI_T_cvar_write; MPI-4.1, 15.3.6). Errors
// are ErrCvarSetNever, and ErrInvalid for a value of another type, or one that is out of range.
func (c Control) Write(value any) error {
	s, err := c.setting()
	switch {
	case err != nil:
		return err
	case s.Set == nil:
		return fail(ErrCvarSetNever, "%s is fixed when the process starts%s", c.Name, hint(c.Env))
	case fmt.Sprintf("%T", value) != fmt.Sprintf("%T", c.Zero):
		return fail(ErrInvalid, "%s takes a %T, not a %T", c.Name, c.Zero, value)
	}
	if err := s.Set(value); err != nil {
		return &Error{Code: ErrInvalid, Text: fmt.Sprintf("%s cannot be %v", c.Name, value), Err: err}
	}
	return nil
}

func hint(env string) string {
	if env == "" {
		return ""
	}
	return ": set " + env + " before"
}

// Value returns the value of a control variable, as the type T.
func Value[T bool | int | string | time.Duration](c Control) (T, error) {
	value, err := c.Read()
	if err != nil {
		return *new(T), err
	}
	v, ok := value.(T)
	if !ok {
		return v, fail(ErrInvalid, "%s is a %T, not a %T", c.Name, value, v)
	}
	return v, nil
}
