package mpi

import (
	"context"
	"errors"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/coll"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// Tags in the context for collective operations. The two highest bits say which kind of operation;
// the rest is the operation's sequence number or the user's tag.
const (
	tagCollective  = iota * core.CommonTags // collective operations, by sequence number
	tagCreateGroup                          // CreateGroup, by the user's tag
	tagIntercomm                            // IntercommCreate over it as the bridge, by the user's tag
	tagFailure                              // agreements of Shrink, whose messages have a context of their own; partitioned messages
	userTagMax     = core.CommonTags - 1
)

// A view is the view that one collective operation has of a communicator. It implements
// coll.Remote, and so coll.Comm, over the communicator's odd context. Its messages have a tag of
// their own, so that concurrent operations never mix. Only one goroutine uses it.
type view struct {
	scope   *core.Scope
	tag     int
	rank    int
	size    int
	remote  int   // ranks of the other group of an inter-communicator, else 0
	ranks   []int // rank i is ranks[i] of the scope; nil means rank i itself
	local   *view // the local group of an inter-communicator, else nil
	machine *coll.Machine
	tuning  *coll.Tuning // of machine, on an intra-communicator
	scratch coll.Scratch
	idle    []*posted
	// misfit is the error of the first message that was shorter or longer than the operation
	// expected. The operation goes on, so that others need not wait for its part in it, and returns
	// misfit when it ends.
	misfit error
}

// A posted is a send or receive that a view has begun.
type posted struct {
	request core.Request
	view    *view
	bytes   int // the length that a receive expects; -1 for a send
}

func (v *view) Rank() int { return v.rank }

func (v *view) Size() int { return v.size }

func (v *view) Machine() *coll.Machine { return v.machine }

func (v *view) RemoteSize() int { return v.remote }

func (v *view) Local() coll.Comm { return v.local }

func (v *view) at(rank int) int {
	if v.ranks == nil {
		return rank
	}
	return v.ranks[rank]
}

func (v *view) Send(to int, b []byte) error {
	return v.scope.SendBytes(core.Standard, b, v.at(to), v.tag)
}

func (v *view) Recv(from int, b []byte) error {
	st, err := v.scope.RecvBytes(b, v.at(from), v.tag)
	return v.exactly(st, err, len(b))
}

func (v *view) Exchange(to int, out []byte, from int, in []byte) error {
	st, err := v.scope.ExchangeBytes(out, v.at(to), in, v.at(from), v.tag)
	return v.exactly(st, err, len(in))
}

func (v *view) Isend(to int, b []byte) (coll.Pending, error) {
	r, err := v.scope.IsendBytes(core.Standard, b, v.at(to), v.tag)
	if err != nil {
		return nil, err
	}
	return v.posted(r, -1), nil
}

func (v *view) Irecv(from int, b []byte) (coll.Pending, error) {
	r, err := v.scope.IrecvBytes(b, v.at(from), v.tag)
	if err != nil {
		return nil, err
	}
	return v.posted(r, len(b)), nil
}

func (v *view) posted(r core.Request, bytes int) *posted {
	n := len(v.idle)
	if n == 0 {
		return &posted{request: r, view: v, bytes: bytes}
	}
	p := v.idle[n-1]
	v.idle = v.idle[:n-1]
	p.request, p.bytes = r, bytes
	return p
}

// Wait implements coll.Pending. It returns p to the view.
func (p *posted) Wait() error {
	st, err := p.request.Wait(context.Background())
	if p.bytes >= 0 {
		err = p.view.exactly(st, err, p.bytes)
	}
	p.view.idle = append(p.view.idle, p)
	return err
}

// exactly records an error if a message does not have the length that the operation needs.
func (v *view) exactly(st core.Status, err error, bytes int) error {
	switch {
	case err == nil && st.Bytes != bytes:
		err = errclass.New(errclass.Truncate,
			"%d bytes came from rank %d where a collective operation needs %d: call it with the same counts everywhere", st.Bytes, st.Source, bytes)
	case err == nil || !errors.Is(err, errclass.Truncate):
		return err
	}
	if v.misfit == nil {
		v.misfit = err
	}
	return nil
}

// ended returns the error of an operation, or of a part of one whose result is needed at once.
func (v *view) ended(err error) error {
	switch {
	case err != nil:
		return err
	case v.misfit != nil:
		return v.misfit
	case v.local != nil:
		return v.local.misfit
	}
	return nil
}
