package mpi

import (
	"slices"

	"github.com/viaduct-hpc/viaduct/mpi/attr"
)

// The attributes that every communicator has (MPI-4.1, 9.1.2 and 11.10.1). Attr returns an int or a
// bool; SetAttr and DeleteAttr refuse them.
var (
	KeyTagUB         = attr.NewFixed[*Comm]() // int: the largest tag, TagUB
	KeyIO            = attr.NewFixed[*Comm]() // int: a rank that can read and write files: AnySource, every one
	KeyHost          = attr.NewFixed[*Comm]() // int: the rank of a host process: ProcNull, there is none
	KeyWtimeIsGlobal = attr.NewFixed[*Comm]() // bool: whether clocks agree: false
	KeyUniverseSize  = attr.NewFixed[*Comm]() // int: how many processes the launcher can run; not set if it does not say
	KeyAppNum        = attr.NewFixed[*Comm]() // int: the number of the command that this process is of; not set if the launcher does not say
	KeyLastUsedCode  = attr.NewFixed[*Comm]() // int: the last error class, AddErrorClass included
)

var predefinedKeys = [...]*Keyval{KeyTagUB, KeyIO, KeyHost, KeyWtimeIsGlobal, KeyUniverseSize, KeyAppNum, KeyLastUsedCode}

func predefined(key *Keyval) bool { return slices.Contains(predefinedKeys[:], key) }

// fact returns the value of a predefined attribute.
func (p *Process) fact(key *Keyval) (value any, ok bool) {
	switch key {
	case KeyTagUB:
		return TagUB, true
	case KeyIO:
		return AnySource, true
	case KeyHost:
		return ProcNull, true
	case KeyWtimeIsGlobal:
		return false, true
	case KeyLastUsedCode:
		return p.classes.last(), true
	case KeyUniverseSize:
		if b, known := p.boot.(interface{ UniverseSize() int }); known && b.UniverseSize() > 0 {
			return b.UniverseSize(), true
		}
	case KeyAppNum:
		if b, known := p.boot.(interface{ AppNum() int }); known && b.AppNum() >= 0 {
			return b.AppNum(), true
		}
	}
	return nil, false
}
