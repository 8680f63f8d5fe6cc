package mpi

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/viaduct-hpc/viaduct/mpi/boot"
)

// Run is for programs that need only one process: it calls Init, then fn, then Finalize. If fn
// returns an error, Run aborts the job with exit code 1 and the error's text (MPI_Abort; MPI-4.1,
// 11.4.2). It does not call Finalize then, which would wait for the other processes, while they may
// wait for messages of this one. So Run returns only on success, or with the error of Init or
// Finalize, or with fn's error if the job cannot be aborted.
//
// A panic in fn ends the process, and so the job.
func Run(ctx context.Context, o Options, fn func(ctx context.Context, p *Process) error) error {
	p, err := Init(ctx, o)
	if err != nil {
		return err
	}
	if err := fn(ctx, p); err != nil {
		p.lastWords(err)
		_ = p.Abort(1, err.Error()) // normally ends this process; otherwise the caller gets err
		p.giveUp()
		return err
	}
	return p.Finalize(ctx)
}

// lastWordsTime is how long the launcher gets to pass on the process's output before the job is
// aborted. Hydra discards output that it has not passed on by then.
const lastWordsTime = 100 * time.Millisecond

// lastWords prints why the job ends, which some launchers do not. In a job whose processes share
// one operating-system process, the caller can do that.
func (p *Process) lastWords(err error) {
	switch p.boot.(type) {
	case alone, *boot.LocalBoot:
	default:
		fmt.Fprintf(os.Stderr, "mpi: rank %d aborts the job: %v\n", p.world.rank, err)
		time.Sleep(lastWordsTime)
	}
}
