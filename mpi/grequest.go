package mpi

import (
	"sync/atomic"

	"github.com/viaduct-hpc/viaduct/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// GrequestStart makes a Request for an operation of the program's own, a generalized one, that
// is waited for and tested as others are (MPI_Grequest_start; MPI-4.1, 13.2). complete ends it,
// from any goroutine, with what Wait is to return (MPI_Grequest_complete); there is no query
// function, as that is known then. A second call is an error of class ErrRequest. cancel is
// called if the request is cancelled before it has ended; it may call complete, with
// Status.Cancelled set. nil: Cancel does nothing. What other languages give free_fn is done by
// complete's caller. Calls on the request have the hook and the error handler of Self.
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
		end(core.Status(st), failure)
		return nil
	}
	return p.self.request(made), complete, nil
}
