package file

import (
	"context"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/internal/bridge"
)

// within is the inside of package mpi.
var within = bridge.Take[mpi.Comm, mpi.Request, mpi.Call]()

// enter shows a call to the hook of the process (MPI-4.1, 15.2). b is its memory, or nil. It returns
// nil if there is no hook.
func (f *File) enter(name string, b *mpi.Buffer) *mpi.Call { return f.enterPart(name, "", b) }

// enterPart is enter for a call whose name has two parts.
func (f *File) enterPart(name, part string, b *mpi.Buffer) *mpi.Call {
	c := f.team.Comm()
	if !within.Hooked(c) {
		return nil
	}
	return within.Enter(c, name+part, mpi.Undefined, bytesIn(b))
}

// collective shows a collective call to the hook, and runs it in its turn.
func (f *File) collective(ctx context.Context, name string, do collective) error {
	call := f.enter(name, nil)
	return f.leave(call, f.inTurn(ctx, do))
}

// leave ends a call: it passes the error to the error handler, and then the call to the hook.
func (f *File) leave(call *mpi.Call, err error) error {
	err = f.fail(err)
	within.Leave(f.team.Comm(), call, err)
	return err
}

// bytesIn returns the bytes of memory, 0 if there is none or if it is wrong.
func bytesIn(b *mpi.Buffer) int {
	if b == nil {
		return 0
	}
	_, _, count, t, err := b.Memory()
	if err != nil || t == nil {
		return 0
	}
	n, _ := t.PackSize(count) // 0 if it is wrong
	return n
}
