package mpi

import "github.com/viaduct-hpc/viaduct/mpi/errclass"

// Start begins a round of a persistent request (MPI_Start; MPI-4.1, 3.9). If the request is not
// persistent or already active, the error has class ErrRequest.
func (r Request) Start() (err error) {
	defer r.comm().call("MPI_Start", &err)()
	return r.begin()
}

// StartAll starts persistent requests in order, up to the first that fails (MPI_Startall;
// MPI-4.1, 3.9).
func (reqs Requests) StartAll() (err error) {
	defer reqs.comm().call("MPI_Startall", &err)()
	for _, r := range reqs {
		if err := r.begin(); err != nil {
			return err
		}
	}
	return nil
}

func (r Request) begin() error {
	if r.from == nil {
		return errNullRequest
	}
	if err := r.from.err; err != nil {
		return err
	}
	if err := r.from.comm.checkLive(); err != nil {
		return err
	}
	if r.from.start == nil {
		return r.r.Start()
	}
	return r.from.begin()
}

// begin begins a round of an operation that the engine does not manage.
func (o *origin) begin() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.freed {
		return errclass.New(errclass.Request, "the persistent request has been freed")
	}
	if _, done, err := o.round.Test(); err != nil {
		return err // of a round that the caller did not wait for
	} else if !done {
		return errclass.New(errclass.Request, "the persistent request is active: wait for it before it is started again")
	}
	round, err := o.start()
	if err != nil {
		return err
	}
	o.round = round
	return nil
}
