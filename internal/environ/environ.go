package environ

import (
	"os"
	"slices"
	"strings"
)

// A Kind says who sets a variable.
type Kind int

// The kinds of variables.
const (
	Setting  Kind = iota // users set it
	Internal             // one process of this project sets it for another
	Launcher             // a launcher or a batch system sets it
	Test                 // it is for the tests of this project
)

// String is the kind as a word.
func (k Kind) String() string { return [...]string{"setting", "internal", "launcher", "test"}[k] }

// A Variable is a row of the table.
type Variable struct {
	Name    string
	Text    string // what it does
	Default string // what holds if it is not set, for people
	Reader  string // who reads it
	Kind    Kind
	Secret  bool // the value must not be shown
}

// Getenv is os.Getenv, for a variable in the table.
func Getenv(name string) string { return os.Getenv(name) }

// LookupEnv is os.LookupEnv, for a variable in the table.
func LookupEnv(name string) (string, bool) { return os.LookupEnv(name) }

// Table returns all variables, those of one reader together.
func Table() []Variable { return slices.Clone(table) }

// Find returns the variable of a name.
func Find(name string) (Variable, bool) {
	i := slices.IndexFunc(table, func(v Variable) bool { return v.Name == name })
	if i < 0 {
		return Variable{}, false
	}
	return table[i], true
}

// Text is what a variable does, for the descriptions of settings.
func Text(name string) string {
	v, _ := Find(name)
	return v.Text
}

// Names are the names of the variables that users may set.
func Names() (names []string) {
	for _, v := range table {
		if v.Kind == Setting {
			names = append(names, v.Name)
		}
	}
	return names
}

// ownPrefix begins the names of variables that belong to this project alone. Others (MPI_, PMI_, BMI_) are shared with other
// programs, so that an unknown one is no mistake.
const ownPrefix = "VIADUCT_"

// testPrefix begins the names that tests use among their own processes.
const testPrefix = ownPrefix + "TEST_"

// Unknown returns the names in an environment, as os.Environ returns it, that begin with VIADUCT_ and are not in the table. They
// are probably misspelt.
func Unknown(environ []string) (names []string) {
	for _, pair := range environ {
		name, _, _ := strings.Cut(pair, "=")
		if _, known := Find(name); !known && strings.HasPrefix(name, ownPrefix) && !strings.HasPrefix(name, testPrefix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
