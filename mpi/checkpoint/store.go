package checkpoint

import (
	"context"
	"errors"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/file"
	"github.com/viaduct-hpc/viaduct/mpi/internal/team"
)

// Options say how checkpoints are stored. The zero value has good defaults.
type Options struct {
	// Keep is how many of the last checkpoints are kept, damaged or not; 0 means 2. Rank 0's counts.
	Keep int
	// Info has hints for the files, see package file; it may be nil.
	Info *mpi.Info
}

// keepDefault: if the newest checkpoint is damaged, there is another one.
const keepDefault = 2

// A Store is a series of checkpoints in a directory.
type Store struct {
	name string
	o    Options
	team *team.Team
	dir  *file.Dir // of rank 0; nil elsewhere
}

// Open opens the store in a directory, on all processes of a communicator. If the directory does not
// exist, it is made; the one above it must exist. The calls on the Store are collective operations on
// this communicator: if it is revoked, they end.
func Open(ctx context.Context, c *mpi.Comm, dir string, o Options) (*Store, error) {
	switch {
	case c == nil:
		return nil, errclass.New(errclass.Comm, "the communicator is nil: take one of this process")
	case c.IsInter():
		return nil, errclass.New(errclass.Comm, "a store cannot be opened by an inter-communicator: merge it first")
	}
	s := &Store{name: dir, o: o, team: team.Over(c, "the store of checkpoints")}
	if o.Keep == 0 {
		s.o.Keep = keepDefault
	}
	if err := s.settle(ctx, s.open(ctx)); err != nil {
		_ = s.Close(ctx) // nothing was written
		return nil, err
	}
	return s, nil
}

func (s *Store) open(ctx context.Context) (err error) {
	switch {
	case s.team.Rank() != 0:
	case s.o.Keep < 1:
		err = errclass.New(errclass.Arg, "cannot keep %d checkpoints: give 1 or more, or 0 for %d", s.o.Keep, keepDefault)
	default:
		s.dir, err = file.OpenDir(ctx, s.name, true)
	}
	_, err = s.team.Agree(ctx, err)
	return err
}

// Close closes the store. Checkpoints stay. It is not collective. If the context of a call has ended
// here before, Close waits until the other ranks have made the same call, or ctx ends.
func (s *Store) Close(ctx context.Context) (err error) {
	if s.dir != nil {
		err = s.dir.Close(context.WithoutCancel(ctx))
		s.dir = nil
	}
	if cerr := s.team.Close(ctx); err == nil {
		err = cerr
	}
	return err
}

// settle ends a collective operation. All ranks have an error or none; if processes or contexts have
// ended, all have one, sooner or later. Otherwise settle gives the errors of all ranks the class of rank
// 0's.
func (s *Store) settle(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case lost(err) || ctxEnded(err):
		return s.team.Break(err)
	}
	all, gerr := s.team.Gather(ctx, []int64{int64(errclass.Of(err))})
	if gerr != nil {
		return gerr
	}
	if c := errclass.Class(all[0]); errclass.Of(err) != c {
		return errclass.Wrap(c, err, "rank 0 and this rank have failed, this one for another reason")
	}
	return err
}

// lost tells whether an error says that a process of the job has failed, or that another one has
// found that out.
func lost(err error) bool {
	return errors.Is(err, mpi.ErrProcFailed) || errors.Is(err, mpi.ErrProcFailedPending) || errors.Is(err, mpi.ErrRevoked)
}

func ctxEnded(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
