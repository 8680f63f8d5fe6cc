package about

import (
	"time"

	"github.com/viaduct-hpc/viaduct/internal/environ"
)

// A Setting is something that a layer can be told: an option, or an environment variable.
type Setting struct {
	Name string // layers and option, with dots: "bmi.spin_max"
	Text string
	Env  string // the environment variable that sets it; "" if none does
	// Value is a bool, an int, a string or a time.Duration.
	Value any
	// Set changes the setting while the program runs, to a value of the type of Value. It is nil if the
	// setting cannot be changed.
	Set func(value any) error
}

// FromEnv describes a setting that only an environment variable makes.
func FromEnv(name, env, text string) Setting {
	return Setting{Name: name, Text: text, Env: env, Value: environ.Getenv(env)}
}

// SecretFromEnv is FromEnv for a secret value: the setting only says whether there is one.
func SecretFromEnv(name, env, text string) Setting {
	return Setting{Name: name, Text: text, Env: env, Value: environ.Getenv(env) != ""}
}

// Changeable makes the setting of a name one that can be changed.
func Changeable[T bool | int | string | time.Duration](all []Setting, name string, set func(T) error) {
	for i := range all {
		if all[i].Name == name {
			all[i].Set = func(value any) error { return set(value.(T)) }
			return
		}
	}
	panic("about: no setting " + name)
}
