package tool

import (
	"cmp"
	"slices"

	"github.com/viaduct-hpc/viaduct/bmi/about"
)

// A Variable describes a performance variable (MPI-4.1, 15.3.7): something that the library
// measures. Values are unsigned numbers of 64 bits.
type Variable struct {
	Name, Text string
	Category   string
	Class      Class
	Verbosity  Verbosity
	Binding    Binding
	Enum       Enum // of a State
	// Nanoseconds: the values are times.
	Nanoseconds bool
	// ReadOnly variables cannot be reset or written. Continuous ones are always active: they cannot
	// be started or stopped. Reading and resetting the others is one atomic step.
	ReadOnly, Continuous, Atomic bool
}

func variableOf(b about.Binding, c about.Count) Variable {
	fixed := c.Class != about.Counter && c.Class != about.Timer && c.Class != about.HighWatermark
	return Variable{
		Name: c.Name, Text: c.Text, Category: categoryOf(c.Name), Class: c.Class,
		Verbosity: verbosityOf(categoryOf(c.Name)), Binding: b, Enum: c.States, Nanoseconds: c.Nanoseconds,
		ReadOnly: fixed, Continuous: fixed, Atomic: !fixed,
	}
}

// Performance returns the performance variables of the process, and those that communicators and
// windows have, by name (MPI_T_pvar_get_num, MPI_T_pvar_get_info; MPI-4.1, 15.3.7).
func (t *Interface) Performance() ([]Variable, error) {
	if err := t.live(); err != nil {
		return nil, err
	}
	var all []Variable
	for i, s := range about.Sources() {
		b := binding{s, i, nil}
		if s.Binding == about.Process {
			b.object = t.p
		}
		for _, c := range b.counts() {
			all = append(all, variableOf(s.Binding, c))
		}
	}
	slices.SortFunc(all, func(a, b Variable) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}
