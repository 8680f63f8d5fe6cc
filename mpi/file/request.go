package file

import (
	"context"
	"errors"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi"
)

// running runs an operation that has been prepared.
type running func(ctx context.Context) (mpi.Status, error)

// request ends a call with a Request for an operation that runs in a goroutine of its own. begin is
// called at once, and prepares the operation. If cancel is set, the request can be cancelled.
func (f *File) request(call *mpi.Call, cancel bool, begin func() (*operation, running)) mpi.Request {
	ctx, stop := context.WithCancel(context.Background())
	onCancel := stop
	if !cancel {
		onCancel = nil
	}
	self := f.team.Process().Self()
	if err := within.Live(self); err != nil { // the process has been finalized
		stop()
		within.Leave(f.team.Comm(), call, err)
		return within.Ended(self, err)
	}
	r, end := within.Operation(self, onCancel)
	o, run := begin()
	within.Leave(f.team.Comm(), call, o.err)
	f.running.Add(1)
	go func() {
		defer f.running.Done()
		defer stop()
		st, err := run(ctx)
		if cancel && errors.Is(err, context.Canceled) {
			st.Cancelled, err = true, nil
		}
		end(core.Status{Source: st.Source, Tag: st.Tag, Bytes: st.Bytes, Cancelled: st.Cancelled}, f.fail(err))
	}()
	return r
}

// status is the Status of an operation on so many bytes.
func status(n int64) mpi.Status {
	return mpi.Status{Source: mpi.AnySource, Tag: mpi.AnyTag, Bytes: int(n)}
}
