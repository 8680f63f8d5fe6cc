package file

import (
	"context"

	"github.com/viaduct-hpc/viaduct/mpi"
)

// CloseStore closes the stored file below f, so that accesses of this process fail.
func CloseStore(f *File) error { return f.store.Close(context.Background()) }

// Lock locks bytes off to end-1 as an atomic write does.
func Lock(f *File, off, end int64) (unlock func(), err error) {
	j, err := f.job(true, explicit, off, mpi.Slice(make([]byte, end-off)))
	if err != nil {
		return nil, err
	}
	return j.lock(context.Background())
}
