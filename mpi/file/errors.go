package file

import (
	"context"
	"errors"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// fail passes an error to the error handler, and returns it. The end of the caller's context is not
// an error of the file.
func (f *File) fail(err error) error {
	if err == nil || ctxEnded(err) {
		return err
	}
	if h := f.ErrorHandler(); h != nil {
		h(f, err)
	}
	return err
}

func ctxEnded(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// open1 returns an error if the file is closed.
func (f *File) open1() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return errClosed
	}
	return nil
}

var errClosed = errclass.New(errclass.File, "the file has been closed: use it before Close")

// notSame returns an error unless all ranks have given the same number.
func notSame(all []int64, what string) error {
	for rank, n := range all {
		if n != all[0] {
			return errclass.New(errclass.NotSame, "rank %d gives the %s %d, and rank 0 gives %d: give the same everywhere", rank, what, n, all[0])
		}
	}
	return nil
}
