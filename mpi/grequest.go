package mpi

import (
	"sync/atomic"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// GrequestStart makes a Request for an operation of the program's own, a generalized request, which
// is waited for and tested as others are (MPI_Grequest_start; MPI-4.1, 13.2). complete ends it,
// from any goroutine, with the Status and error that Wait returns (MPI_Grequest_complete), so no
// query function is needed. A second call of complete is an error of class ErrRequest. cancel is
// called if the request is cancelled before it has ended; it may call complete, with
// Status.Cancelled set. If cancel is nil, Cancel does nothing. The caller of complete does what
// free_fn does in other languages. Calls on the request use the hook and the error handler of Self.
func (p *Process) GrequestStart(cancel func()) (r Request, complete func(st Status, err error) error, err error) {
	defer p.call("MPI_Grequest_start", &err)()
	if err := p.self.checkLive(); err != nil {
		return Request{}, nil, err
	}
	made, end := p.engine.NewOp(cancel)
	var ended atomic.Bool
	complete = func(st Status, failure error) (err error) {
		defer p.call("MPI_Grequest_complete", &err)()
		if ended.Swap(true) {
			return errclass.New(errclass.Request, "the generalized request has been completed already: complete it once")
		}
		end(st.core(), failure)
		return nil
	}
	return p.self.request(made), complete, nil
}
