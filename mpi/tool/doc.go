// Package tool is the tools interface of MPI (MPI-4.1, 15.3; the names there begin with MPI_T_):
// settings of the library, what it measures, and events. It shows all layers below a process: the
// engine of package mpi, the endpoint of package bmi, its methods, and their NICs.
//
//	t, err := tool.Open(p)
//	defer t.Close()
//	s := t.Session()
//	eager, err := s.Handle("bmi.via+shm.eager_sent", nil)
//	err = eager.Start()
//	...
//	n, err := eager.Read() // eager messages sent since Start
//
// Variables have names, and no numbers: the set of variables grows when a process opens another
// method. docs/reference/mpi-variables.md lists them. Those of a communicator or a window take it as an
// argument; a value is then often an array by rank. Errors have the codes of the standard:
// errors.Is(err, tool.ErrInvalidName).
//
// Nothing here costs a message anything while nobody looks. What a read costs grows with the number
// of peers. All calls may be made by any goroutine.
//
// open.go has the Interface, control.go settings, performance.go what is measured, session.go
// how it is read, event.go events, category.go the tree of all, errors.go errors. The variables
// themselves are described where they are: package bmi/about.
package tool
