package tool

import (
	"strings"

	"github.com/viaduct-hpc/viaduct/bmi/about"
)

// A Verbosity says which people a variable or event is meant for (MPI-4.1, 15.3.1).
type Verbosity uint8

// Verbosities.
const (
	UserBasic Verbosity = iota // for programs' users; MPI_T_VERBOSITY_USER_BASIC, and so on
	UserDetail
	UserAll
	TunerBasic // for people who tune programs and machines
	TunerDetail
	TunerAll
	DevBasic // for developers of this module
	DevDetail
	DevAll
)

// verbosityOf returns the verbosity of a layer: the lower a layer is, the fewer want to see it.
func verbosityOf(category string) Verbosity {
	layer, below, _ := strings.Cut(category, ".")
	switch depth := strings.Count(below, "."); {
	case layer == "mpi" && below == "":
		return UserBasic
	case layer == "mpi":
		return UserDetail
	case below == "":
		return TunerBasic
	case depth == 0:
		return TunerDetail
	case strings.HasSuffix(below, ".errors"), strings.HasSuffix(below, ".link"), strings.HasSuffix(below, ".packets"):
		return TunerAll
	default:
		return DevDetail
	}
}

// categoryOf returns the category of a variable or event: its name without the last part.
func categoryOf(name string) string { return name[:max(strings.LastIndexByte(name, '.'), 0)] }

// A Binding is the kind of object that a variable belongs to (MPI-4.1, 15.3.2).
type Binding = about.Binding

// Bindings.
const (
	OfProcess      = about.Process      // no object; MPI_T_BIND_NO_OBJECT
	OfCommunicator = about.Communicator // an *mpi.Comm; MPI_T_BIND_MPI_COMM
	OfWindow       = about.Window       // an *rma.Win; MPI_T_BIND_MPI_WIN
)

// A Class says how a variable behaves (MPI-4.1, 15.3.7).
type Class = about.Class

// Classes: MPI_T_PVAR_CLASS_COUNTER, and so on.
const (
	Counter       = about.Counter
	Level         = about.Level
	HighWatermark = about.HighWatermark
	Size          = about.Size
	Timer         = about.Timer
	State         = about.State
	Generic       = about.Generic
)

// An Enum is the values that a variable may have (MPI_T_enum_get_info, MPI_T_enum_get_item;
// MPI-4.1, 15.3.5). A value is the index of its name.
type Enum []string
