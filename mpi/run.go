package mpi

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/viaduct-hpc/viaduct/mpi/boot"
)

// Run is the life of a process that a program needs no more than one of: Init, then fn, then
// Finalize. If fn returns an error, Run aborts the job with exit code 1 and the error's text
// (MPI_Abort; MPI-4.1, 11.4.2), because Finalize would wait for the other processes, and they
// perhaps for messages of this one. So Run returns only if all went well, or with the error
// of Init or Finalize; or with fn's, if nobody can end the job.
//
// A panic of fn ends the process, and so the job, as anywhere.
func Run(ctx context.Context, o Options, fn func(p *Process) error) error {
	p, err := Init(ctx, o)
	if err != nil {
		return err
	}
	if err := fn(p); err != nil {
		p.lastWords(err)
		_ = p.Abort(1, err.Error()) // the launcher has the last word, and if not, the caller
		p.giveUp()
		return err
	}
	return p.Finalize(ctx)
}

// lastWordsTime is for the launcher to hand on what a process says before it aborts the job:
// Hydra throws away what it has not by then.
const lastWordsTime = 100 * time.Millisecond

// lastWords tells why the job ends, which some launchers do not. In a job whose processes
// share one of the operating system's, the caller can.
func (p *Process) lastWords(err error) {
	switch p.boot.(type) {
	case alone, *boot.LocalBoot:
	default:
		fmt.Fprintf(os.Stderr, "mpi: rank %d aborts the job: %v\n", p.world.rank, err)
		time.Sleep(lastWordsTime)
	}
}
