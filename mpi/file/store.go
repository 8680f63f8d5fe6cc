package file

import (
	"context"
	"strings"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/file/internal/posix"
	"github.com/viaduct-hpc/viaduct/mpi/file/internal/pvfs"
	"github.com/viaduct-hpc/viaduct/mpi/file/internal/storage"
)

// The prefixes of names. Without one, the file is one of the operating system.
const (
	pvfsPrefix = "pvfs:"
	unixPrefix = "ufs:"
)

// openStore opens the stored file of a name.
func openStore(ctx context.Context, name string, flag int, h *hints) (storage.File, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	if rest, ok := strings.CutPrefix(name, pvfsPrefix); ok {
		f, err := pvfs.Open(ctx, rest, flag, h.perm, pvfs.Striping{Unit: h.unit, Count: int(h.factor)})
		if err != nil {
			return nil, err // not a nil *pvfs.File in the interface
		}
		return f, nil
	}
	f, err := posix.Open(strings.TrimPrefix(name, unixPrefix), flag, h.perm)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// deleteStored removes the stored file of a name.
func deleteStored(ctx context.Context, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	if rest, ok := strings.CutPrefix(name, pvfsPrefix); ok {
		return pvfs.Delete(ctx, rest)
	}
	return posix.Delete(strings.TrimPrefix(name, unixPrefix))
}

func checkName(name string) error {
	if name == "" || strings.IndexByte(name, 0) >= 0 {
		return errclass.New(errclass.BadFile, "the name %q is empty or has a zero byte: name a file", name)
	}
	return nil
}
