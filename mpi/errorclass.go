package mpi

import (
	"sync"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// A program's own error classes are for errors of its libraries: &Error{Class: c, Text: "..."}.
// Errors are values in Go, so error codes need no numbers of their own (MPI-4.1, 9.5).

// classesMax limits the error classes that a process adds.
const classesMax = 1 << 16

// errorClasses holds the classes that were added to a process.
type errorClasses struct {
	mu    sync.Mutex
	added []addedClass // class i is errclass.Revoked+1+i
}

type addedClass struct {
	text    string
	removed bool
}

// find returns an added class, or nil if there is no such class. mu must be held.
func (e *errorClasses) find(class ErrorClass) *addedClass {
	i := int(class) - int(errclass.Revoked) - 1
	if i < 0 || i >= len(e.added) || e.added[i].removed {
		return nil
	}
	return &e.added[i]
}

// last returns the last class.
func (e *errorClasses) last() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return int(errclass.Revoked) + len(e.added)
}

// AddErrorClass makes an error class that is new in this process (MPI_Add_error_class; MPI-4.1,
// 9.5). Processes that add their classes in the same order get the same numbers.
func (p *Process) AddErrorClass() (class ErrorClass, err error) {
	defer p.call("MPI_Add_error_class", &err)()
	p.classes.mu.Lock()
	defer p.classes.mu.Unlock()
	if len(p.classes.added) == classesMax {
		return ErrUnknown, errclass.New(errclass.NoMem, "%d error classes have been added, and there are no more", classesMax)
	}
	p.classes.added = append(p.classes.added, addedClass{})
	return errclass.Revoked + ErrorClass(len(p.classes.added)), nil
}

// RemoveErrorClass removes a class that AddErrorClass made. Its number is not used again
// (MPI_Remove_error_class; MPI-4.1, 9.5).
func (p *Process) RemoveErrorClass(class ErrorClass) (err error) {
	defer p.call("MPI_Remove_error_class", &err)()
	return p.changeClass(class, addedClass{removed: true})
}

// AddErrorString sets the text that ErrorString returns for an added class (MPI_Add_error_string;
// MPI-4.1, 9.5). It may be set again.
func (p *Process) AddErrorString(class ErrorClass, text string) (err error) {
	defer p.call("MPI_Add_error_string", &err)()
	return p.changeClass(class, addedClass{text: text})
}

func (p *Process) changeClass(class ErrorClass, to addedClass) error {
	p.classes.mu.Lock()
	defer p.classes.mu.Unlock()
	added := p.classes.find(class)
	if added == nil {
		return errclass.New(errclass.Arg, "%v is no error class that was added here: take one that AddErrorClass returned", class)
	}
	*added = to
	return nil
}

// ErrorString returns the standard's name of an error class, or the text that AddErrorString set
// (MPI_Error_string; MPI-4.1, 9.4).
func (p *Process) ErrorString(class ErrorClass) string {
	p.classes.mu.Lock()
	defer p.classes.mu.Unlock()
	if added := p.classes.find(class); added != nil && added.text != "" {
		return added.text
	}
	return class.String()
}
