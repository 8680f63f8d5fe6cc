package file

import (
	"context"
	"errors"

	"github.com/viaduct-hpc/viaduct/mpi"
)

// request returns a Request for an operation that runs in a goroutine of its own. begin is called
// at once, and returns the operation. If cancel is set, the request can be cancelled.
func (f *File) request(cancel bool, begin func() func(ctx context.Context) (mpi.Status, error)) mpi.Request {
	ctx, stop := context.WithCancel(context.Background())
	onCancel := stop
	if !cancel {
		onCancel = nil
	}
	p := f.team.Process()
	r, complete, err := p.GrequestStart(onCancel)
	if err != nil {
		stop()
		return p.Self().Ibarrier() // which is refused for the same reason: the process has been finalized
	}
	run := begin()
	f.running.Add(1)
	go func() {
		defer f.running.Done()
		defer stop()
		st, err := run(ctx)
		if cancel && errors.Is(err, context.Canceled) {
			st.Cancelled, err = true, nil
		}
		_ = complete(st, f.fail(err)) // this is the only call
	}()
	return r
}

// status is the Status of an operation on so many bytes.
func status(n int64) mpi.Status {
	return mpi.Status{Source: mpi.AnySource, Tag: mpi.AnyTag, Bytes: int(n)}
}
