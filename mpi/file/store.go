package file

import (
	"context"
	"strings"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/internal/file/posix"
	"github.com/viaduct-hpc/viaduct/mpi/internal/file/pvfs"
	"github.com/viaduct-hpc/viaduct/mpi/internal/file/storage"
)

// The prefixes of names. Without one, the file is one of the operating system.
const (
	pvfsPrefix = "pvfs:"
	unixPrefix = "ufs:"
)

// driverOf returns the storage of a name, and the rest of the name.
func driverOf(name string) (storage.Driver, string, error) {
	if name == "" || strings.IndexByte(name, 0) >= 0 {
		return nil, "", errclass.New(errclass.BadFile, "the name %q is empty or has a zero byte: name a file", name)
	}
	if rest, ok := strings.CutPrefix(name, pvfsPrefix); ok {
		return pvfs.Driver{}, rest, nil
	}
	if d, rest, ok := storage.Registered(name); ok {
		return d, rest, nil
	}
	return posix.Driver{}, strings.TrimPrefix(name, unixPrefix), nil
}

// openStore opens the stored file of a name.
func openStore(ctx context.Context, name string, flag int, h *hints) (storage.File, error) {
	d, rest, err := driverOf(name)
	if err != nil {
		return nil, err
	}
	return d.Open(ctx, rest, flag, storage.How{Perm: h.perm, Unit: h.unit, Count: int(h.factor)})
}

// deleteStored removes the stored file of a name.
func deleteStored(ctx context.Context, name string) error {
	d, rest, err := driverOf(name)
	if err != nil {
		return err
	}
	return d.Delete(ctx, rest)
}
