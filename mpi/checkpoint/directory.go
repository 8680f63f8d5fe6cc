package checkpoint

import (
	"context"
	"errors"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/checkpoint/internal/manifest"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/file"
)

// Names of files change in this file only, and only on rank 0.
//
// A checkpoint exists if it has a manifest, so the manifest gets its name when everything else is on
// stable storage, and loses it before the data does. Numbers are not used again while files with them
// may be there, so a process that was believed dead cannot write into a later checkpoint.

// list returns the files of checkpoints.
func (s *Store) list(ctx context.Context) (manifest.Listing, error) {
	names, err := s.dir.Names(ctx)
	return manifest.List(names), err
}

// makeReady removes what saves have left that were killed, and returns the number of the next
// checkpoint.
func (s *Store) makeReady(ctx context.Context) (number int64, err error) {
	l, err := s.list(ctx)
	if err != nil {
		return 0, err
	}
	for _, n := range l.New {
		if l.HasManifest(n) {
			// The process died during the rename. The file may have both names.
			err = s.dir.Rename(ctx, manifest.NewName(n), manifest.Name(n))
		} else {
			err = s.remove(ctx, manifest.NewName(n))
		}
		if err != nil {
			return 0, err
		}
	}
	for _, n := range l.Broken {
		if err := s.remove(ctx, manifest.Name(n)); err != nil {
			return 0, err
		}
	}
	for _, n := range l.Data {
		if err := s.remove(ctx, manifest.DataName(n)); err != nil {
			return 0, err
		}
	}
	return l.Last + 1, nil
}

// remove removes a file, if it is there.
func (s *Store) remove(ctx context.Context, name string) error {
	if err := s.dir.Delete(ctx, name); !errors.Is(err, mpi.ErrNoSuchFile) {
		return err
	}
	return nil
}

// removeData makes room after a save that has failed. If it cannot, the next save will.
func (s *Store) removeData(ctx context.Context, number int64) {
	if s.dir != nil {
		_ = s.remove(context.WithoutCancel(ctx), manifest.DataName(number))
	}
}

// publish writes the manifest, by which the checkpoint comes to exist. Its data must be on stable
// storage already.
func (s *Store) publish(ctx context.Context, m *manifest.Manifest) error {
	b, err := m.Append(nil)
	if err != nil {
		return err
	}
	if err := s.writeNew(ctx, manifest.NewName(m.Number), b); err != nil {
		return err
	}
	if err := s.dir.Sync(ctx); err != nil { // the data's name, too
		return err
	}
	if err := s.dir.Rename(ctx, manifest.NewName(m.Number), manifest.Name(m.Number)); err != nil {
		return err
	}
	return s.dir.Sync(ctx)
}

// writeNew writes a new file, and puts it on stable storage.
func (s *Store) writeNew(ctx context.Context, name string, b []byte) error {
	f, err := s.openAlone(ctx, name, file.ModeCreate|file.ModeExcl|file.ModeWronly)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(ctx, 0, mpi.Slice(b))
	if cerr := f.Close(ctx); err == nil { // which syncs
		err = cerr
	}
	return err
}

func (s *Store) openAlone(ctx context.Context, name string, mode file.Mode) (*file.File, error) {
	return file.Open(ctx, s.team.Process().Self(), file.Join(s.name, name), mode, s.o.Info)
}

// readManifest reads the manifest of a checkpoint.
func (s *Store) readManifest(ctx context.Context, number int64) ([]byte, error) {
	f, err := s.openAlone(ctx, manifest.Name(number), file.ModeRdonly)
	if err != nil {
		return nil, err
	}
	b, err := readWhole(ctx, f)
	if cerr := f.Close(ctx); err == nil {
		err = cerr
	}
	return b, err
}

func readWhole(ctx context.Context, f *file.File) ([]byte, error) {
	n, err := f.Size(ctx)
	switch {
	case err != nil:
		return nil, err
	case n > manifest.BytesMax:
		return nil, errclass.New(errclass.IO, "the manifest is damaged: it has %d bytes, and at most %d are possible", n, manifest.BytesMax)
	}
	b := make([]byte, n)
	st, err := f.ReadAt(ctx, 0, mpi.Slice(b))
	return b[:st.Bytes], err
}

// prune removes all checkpoints but the last ones. The new one exists, even if this fails.
func (s *Store) prune(ctx context.Context) error {
	l, err := s.list(ctx)
	if err != nil {
		return errKept(err)
	}
	old := l.Whole[:max(0, len(l.Whole)-s.o.Keep)]
	for _, n := range old {
		if err := s.remove(ctx, manifest.Name(n)); err != nil {
			return errKept(err)
		}
	}
	if len(old) == 0 {
		return nil
	}
	if err := s.dir.Sync(ctx); err != nil {
		return errKept(err)
	}
	for _, n := range old {
		if err := s.remove(ctx, manifest.DataName(n)); err != nil {
			return errKept(err)
		}
	}
	return nil
}

func errKept(err error) error {
	return errclass.Wrap(errclass.Of(err), err, "the checkpoint was saved, but older ones could not be removed")
}
