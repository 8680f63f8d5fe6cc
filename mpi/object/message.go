package object

import (
	"context"

	"github.com/viaduct-hpc/viaduct/mpi"
)

// Send sends a value to rank dst (mpi.Comm.Send).
func Send(ctx context.Context, c *mpi.Comm, v any, dst, tag int, how ...mpi.Mode) error {
	b, err := encode(v)
	if err != nil {
		return err
	}
	return c.Send(ctx, mpi.Slice(b), dst, tag, how...)
}

// Isend begins a Send (mpi.Comm.Isend). The value may be changed at once. Persistent requests send
// the value that it has now.
func Isend(c *mpi.Comm, v any, dst, tag int, how ...mpi.Mode) (mpi.Request, error) {
	b, err := encode(v)
	if err != nil {
		return mpi.Request{}, err
	}
	return c.Isend(mpi.Slice(b), dst, tag, how...), nil
}

// Recv receives a value from rank src with a tag, of any length (mpi.Comm.Recv).
func Recv[T any](ctx context.Context, c *mpi.Comm, src, tag int) (v T, st mpi.Status, err error) {
	m, st, err := c.Mprobe(ctx, src, tag)
	if err != nil || st.Source == mpi.ProcNull {
		return v, st, err
	}
	n := int64(st.Bytes)
	tooLong := checkLength(n, st.Source)
	if tooLong != nil {
		n = 0 // the message is received without its bytes, so that it is out of the way
	}
	b := make([]byte, n)
	if st, err = m.Recv(ctx, mpi.Slice(b)); tooLong != nil {
		return v, st, tooLong
	}
	if err != nil {
		return v, st, err
	}
	return v, st, decode(b, &v, st.Source)
}

// Sendrecv sends a value to rank dst and receives one from rank src, both at once
// (mpi.Comm.Sendrecv).
func Sendrecv[T any](ctx context.Context, c *mpi.Comm, v any, dst, sendTag, src, recvTag int) (got T, st mpi.Status, err error) {
	sent, err := Isend(c, v, dst, sendTag)
	if err != nil {
		return got, st, err
	}
	got, st, err = Recv[T](ctx, c, src, recvTag)
	if err != nil {
		_ = sent.Cancel() // nil for a request that is not null
	}
	if _, serr := sent.Wait(ctx); err == nil {
		err = serr
	}
	return got, st, err
}
