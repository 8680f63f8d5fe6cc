package program

import (
	"strings"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// Methods are the methods that this program carries.
func Methods() []string {
	var names []string
	for _, d := range bmi.Drivers() {
		names = append(names, d.Name())
	}
	return names
}

// MethodList is the methods that this program carries, as text.
func MethodList() string {
	if names := Methods(); len(names) > 0 {
		return strings.Join(names, ", ")
	}
	return "none (this binary was built without any)"
}
