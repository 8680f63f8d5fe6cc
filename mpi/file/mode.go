package file

import (
	"os"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// A Mode says how a file is opened (MPI-4.1, 14.2.1): one of ModeRdonly, ModeWronly and ModeRdwr,
// and any of the others.
type Mode int

// The modes.
const (
	ModeRdonly        Mode = 1 << iota // only read
	ModeRdwr                           // read and write
	ModeWronly                         // only write
	ModeCreate                         // create the file if it does not exist
	ModeExcl                           // with ModeCreate: it must not exist
	ModeDeleteOnClose                  // remove it when it is closed
	ModeUniqueOpen                     // no other process has it open; has no effect here
	ModeSequential                     // access it only through the shared pointer, in order
	ModeAppend                         // all pointers begin at the end of the file

	modesEnd
)

// check returns an error if the mode contradicts itself.
func (m Mode) check() error {
	switch ways := m & (ModeRdonly | ModeRdwr | ModeWronly); {
	case m < 0 || m >= modesEnd:
		return errclass.New(errclass.Amode, "the mode %#x has bits that mean nothing", int(m))
	case ways != ModeRdonly && ways != ModeRdwr && ways != ModeWronly:
		return errclass.New(errclass.Amode, "the mode must have exactly one of ModeRdonly, ModeWronly and ModeRdwr")
	case ways == ModeRdonly && m&(ModeCreate|ModeExcl) != 0:
		return errclass.New(errclass.Amode, "a file that is only read cannot be created: leave out ModeCreate and ModeExcl")
	case ways == ModeRdwr && m&ModeSequential != 0:
		return errclass.New(errclass.Amode, "a sequential file is read or written, not both: leave out ModeSequential, or take ModeRdonly or ModeWronly")
	}
	return nil
}

// flags returns the flags of package os. Only rank 0 creates.
func (m Mode) flags(create bool) int {
	flag := os.O_RDONLY
	switch {
	case m&ModeRdwr != 0:
		flag = os.O_RDWR
	case m&ModeWronly != 0:
		flag = os.O_WRONLY
	}
	if create && m&ModeCreate != 0 {
		flag |= os.O_CREATE
		if m&ModeExcl != 0 {
			flag |= os.O_EXCL
		}
	}
	return flag
}

// may returns an error unless the file may be read or written.
func (m Mode) may(write bool) error {
	switch {
	case write && m&ModeRdonly != 0:
		return errclass.New(errclass.ReadOnly, "the file is open only for reading: open it with ModeRdwr or ModeWronly")
	case !write && m&ModeWronly != 0:
		return errclass.New(errclass.Access, "the file is open only for writing: open it with ModeRdwr or ModeRdonly")
	}
	return nil
}

// random returns an error for a sequential file, which has only the shared pointer.
func (m Mode) random() error {
	if m&ModeSequential != 0 {
		return errclass.New(errclass.UnsupportedOperation, "the file is open with ModeSequential: use the calls with the shared pointer")
	}
	return nil
}
