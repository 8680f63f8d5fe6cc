package coretest

import (
	"context"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
)

// A Port is a process as a program sees it. Communicators are numbered from 0; each has all ranks.
// No call waits.
type Port interface {
	Isend(comm int, mode core.Mode, buf core.Buffer, dst, tag int) (Request, error)
	Irecv(comm int, buf core.Buffer, src, tag int) (Request, error)
	// SendInit and RecvInit make persistent requests.
	SendInit(comm int, mode core.Mode, buf core.Buffer, dst, tag int) (Persistent, error)
	RecvInit(comm int, buf core.Buffer, src, tag int) (Persistent, error)
	Iprobe(comm int, src, tag int) (core.Status, bool, error)
	Improbe(comm int, src, tag int) (Message, bool, error)
	TestAny(rs []Request) (i int, st core.Status, ok bool, err error)
	TestAll(rs []Request, statuses []core.Status, errs []error) (bool, error)
	TestSome(rs []Request, indices []int, statuses []core.Status, errs []error) ([]int, error)
}

// A Request is a core.Request, or behaves like one.
type Request interface {
	IsNull() bool
	Wait(ctx context.Context) (core.Status, error)
	Test() (core.Status, bool, error)
	Peek() (core.Status, bool, error)
	Cancel() error
}

// A Persistent is a Request that can begin again.
type Persistent interface {
	Request
	Start() error
	Free() error
}

// A Message is a message that a matched probe has taken.
type Message interface {
	Status() core.Status
	Irecv(buf core.Buffer) (Request, error)
}

// A Blocking is a Port whose calls may wait, because another goroutine makes time pass.
type Blocking interface {
	Port
	Send(comm int, mode core.Mode, buf core.Buffer, dst, tag int) error
	Recv(comm int, buf core.Buffer, src, tag int) (core.Status, error)
	Exchange(comm int, out core.Buffer, dst, sendTag int, in core.Buffer, src, recvTag int) (core.Status, error)
	Probe(ctx context.Context, comm int, src, tag int) (core.Status, error)
	Mprobe(ctx context.Context, comm int, src, tag int) (Message, error)
	WaitAny(ctx context.Context, rs []Request) (int, core.Status, error)
	WaitAll(ctx context.Context, rs []Request, statuses []core.Status, errs []error) error
	WaitSome(ctx context.Context, rs []Request, indices []int, statuses []core.Status, errs []error) ([]int, error)
}
