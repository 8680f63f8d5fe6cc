package team

import (
	"context"
	"errors"

	"github.com/viaduct-hpc/viaduct/mpi"
)

// The tags of messages between two ranks.
const (
	TagList   = iota // of a collective operation: which ranges
	TagMore          // the rest of a long list
	TagData          // the bytes
	TagReady         // the buffer of an aggregator can be used by a rank of its host
	TagDone          // the rank has finished with it
	TagAsk           // a request to the service on rank 0
	TagAnswer        // the answer to request n has tag TagAnswer + n
)

// A Pending is a message on its way. The zero Pending has arrived.
type Pending struct {
	t *Team
	r mpi.Request
}

// Isend begins to send a part of a collective operation.
func (t *Team) Isend(b []byte, to, tag int) Pending {
	return Pending{t, t.c.Isend(mpi.Slice(b), to, tag)}
}

// Irecv begins to receive one.
func (t *Team) Irecv(b []byte, from, tag int) Pending {
	return Pending{t, t.c.Irecv(mpi.Slice(b), from, tag)}
}

// Wait waits until the message has arrived or is on its way, and the memory belongs to the caller
// again. It returns the length of a received message.
func (p Pending) Wait(ctx context.Context) (int, error) {
	if p.t == nil {
		return 0, nil
	}
	st, err := p.t.finish(ctx, p.r)
	return st.Bytes, err
}

// Ask sends a request to the service on rank 0 and returns the answer. tag is one that no other
// request of this rank has meanwhile. If ctx ends, the request may have been served; late is called
// with the answer, if one comes.
func (t *Team) Ask(ctx context.Context, request, answer []int64, tag int, late func()) error {
	r := t.c.Irecv(mpi.Slice(answer), 0, tag)
	// A request is small, and its sending does not wait.
	if err := t.c.Send(context.WithoutCancel(ctx), mpi.Slice(request), 0, TagAsk); err != nil {
		_ = r.Cancel()
		_, _ = r.Wait(context.Background())
		return t.explain(err)
	}
	_, err := r.Wait(ctx)
	if err == nil {
		return nil
	}
	if ctxEnded(err) {
		go func() {
			if _, err := r.Wait(context.Background()); err == nil {
				late()
			}
		}()
	}
	return t.explain(err)
}

// Serve receives requests on rank 0 until ctx ends or the team is broken. It calls serve for each,
// and gone for each rank that is found to have failed.
func (t *Team) Serve(ctx context.Context, request []int64, serve, gone func(rank int)) error {
	for {
		st, err := t.c.Recv(ctx, mpi.Slice(request), mpi.AnySource, TagAsk)
		switch {
		case err == nil:
			serve(st.Source)
		case errors.Is(err, mpi.ErrProcFailedPending):
			if err := t.c.AckFailed(); err != nil {
				return err
			}
			for _, rank := range t.failed() {
				gone(rank)
			}
		default:
			return err
		}
	}
}

// Answer answers a request. It does not wait for the rank that asked.
func (t *Team) Answer(to, tag int, answer []int64) {
	// A rank that is gone needs no answer.
	_ = t.c.Isend(mpi.Slice(answer), to, tag).Free()
}

// Tell sends a request to the service on rank 0 that has no answer.
func (t *Team) Tell(request []int64) {
	// If rank 0 is gone, so is the service.
	_ = t.c.Isend(mpi.Slice(request), 0, TagAsk).Free()
}
