package checkpoint

import (
	"context"
	"errors"
	"slices"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/checkpoint/internal/manifest"
	"github.com/viaduct-hpc/viaduct/mpi/checkpoint/internal/sums"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/file"
)

// ErrNone is the error of Restore if there is no checkpoint. Its class is mpi.ErrNoSuchFile.
var ErrNone error = errclass.New(errclass.NoSuchFile, "there is no checkpoint: begin from the start")

// A Restored says which checkpoint was restored.
type Restored struct {
	Step int64 // that Save was given
	// Damaged is why newer checkpoints were not restored, the newest first.
	Damaged []error
}

// Restore restores some items of the newest checkpoint. The number of ranks, and which rank has which
// part of an array, may be others than in Save; names, shapes and elements are the same. A checkpoint
// may have more items than are restored.
//
// All bytes are compared with their checksums. If a file is damaged, too short or missing, or cannot be
// read, Restore takes the checkpoint before. If none can be restored, the error is that of the newest
// one; if there is none, it is ErrNone.
func (s *Store) Restore(ctx context.Context, items ...Item) (Restored, error) {
	got, err := s.restore(ctx, items)
	if err == ErrNone {
		return got, err // on all ranks
	}
	return got, s.settle(ctx, err)
}

func (s *Store) restore(ctx context.Context, items []Item) (got Restored, err error) {
	d, err := s.describe(ctx, false, 0, items)
	if err != nil {
		return got, err
	}
	var numbers []int64 // on rank 0, the newest first
	if s.dir != nil {
		var l manifest.Listing
		l, err = s.list(ctx)
		numbers = slices.Concat(l.Whole, l.Broken)
		slices.Sort(numbers)
		slices.Reverse(numbers)
	}
	for {
		number := int64(0) // none
		if len(numbers) > 0 {
			number, numbers = numbers[0], numbers[1:]
		}
		all, err := s.team.Agree(ctx, err, number)
		switch {
		case err != nil:
			return got, err
		case all[0] == 0 && got.Damaged == nil:
			return got, ErrNone
		case all[0] == 0:
			newest := got.Damaged[0]
			return Restored{}, errclass.Wrap(errclass.Of(newest), newest, "none of the %d checkpoints in %s can be restored; the newest", len(got.Damaged), s.name)
		}
		got.Step, err = s.restoreOne(ctx, all[0], items, d)
		if err == nil {
			return got, nil
		}
		if err = s.settle(ctx, err); !errors.Is(err, mpi.ErrIO) && !errors.Is(err, mpi.ErrNoSuchFile) {
			return Restored{}, err
		}
		got.Damaged = append(got.Damaged, errclass.Wrap(errclass.Of(err), err, "checkpoint %d in %s", all[0], s.name))
	}
}

// restoreOne restores a checkpoint.
func (s *Store) restoreOne(ctx context.Context, number int64, items []Item, d *description) (step int64, err error) {
	m, err := s.shareManifest(ctx, number)
	if err != nil {
		return 0, err
	}
	entries, err := d.match(m)
	if err != nil {
		return 0, err
	}
	values, err := s.readData(ctx, m, entries, d)
	if err != nil {
		return 0, err
	}
	for i, b := range values {
		if err == nil && items[i].typ == manifest.Value {
			err = items[i].decode(b)
		}
	}
	_, err = s.team.Agree(ctx, err)
	return m.Step, err
}

// shareManifest gives all ranks the manifest of a checkpoint.
func (s *Store) shareManifest(ctx context.Context, number int64) (*manifest.Manifest, error) {
	var b []byte
	var m *manifest.Manifest
	var err error
	if s.dir != nil {
		if b, err = s.readManifest(ctx, number); err == nil {
			m, err = manifest.Parse(b)
		}
		if err == nil && m.Number != number {
			err = errclass.New(errclass.IO, "the manifest is damaged: it is that of checkpoint %d", m.Number)
		}
	}
	all, err := s.team.Agree(ctx, err, int64(len(b)))
	if err != nil {
		return nil, err
	}
	if s.dir == nil {
		b = make([]byte, all[0])
	}
	if err := s.team.Bcast(ctx, b, 0); err != nil {
		return nil, err
	}
	return manifest.Parse(b)
}

// match finds the items in a manifest.
func (d *description) match(m *manifest.Manifest) ([]*manifest.Item, error) {
	by := map[string]*manifest.Item{}
	for i := range m.Items {
		by[m.Items[i].Name] = &m.Items[i]
	}
	entries := make([]*manifest.Item, len(d.entries))
	for i := range d.entries {
		want := &d.entries[i]
		got, ok := by[want.Name]
		switch {
		case !ok:
			return nil, errclass.New(errclass.Name, "checkpoint %d has no item %q: restore only items that were saved", m.Number, want.Name)
		case got.Type != want.Type:
			return nil, errclass.New(errclass.Type, "%q is an array here and a value in checkpoint %d, or the other way round", want.Name, m.Number)
		case !slices.Equal(got.Shape, want.Shape):
			return nil, errclass.New(errclass.NotSame, "%q has the shape %v here, and %v in checkpoint %d: restore it in the shape in which it was saved", want.Name, want.Shape, got.Shape, m.Number)
		case want.ElemBytes != 0 && (got.ElemBytes != want.ElemBytes || got.Kind != want.Kind):
			return nil, errclass.New(errclass.Type, "%q has elements of %d bytes of kind %s here, and of %d bytes of kind %s in checkpoint %d: restore it with the type with which it was saved",
				want.Name, want.ElemBytes, want.Kind, got.ElemBytes, got.Kind, m.Number)
		}
		entries[i] = got
	}
	return entries, nil
}

// readData reads the items and compares their checksums. It returns the values.
func (s *Store) readData(ctx context.Context, m *manifest.Manifest, entries []*manifest.Item, d *description) ([][]byte, error) {
	f, err := file.Open(ctx, s.team.Comm(), file.Join(s.name, manifest.DataName(m.Number)), file.ModeRdonly, s.o.Info)
	if err != nil {
		return nil, err
	}
	values, err := s.readItems(ctx, f, m, entries, d)
	if cerr := f.Close(ctx); err == nil {
		err = cerr
	}
	return values, err
}

func (s *Store) readItems(ctx context.Context, f *file.File, m *manifest.Manifest, entries []*manifest.Item, d *description) ([][]byte, error) {
	n, err := f.Size(ctx)
	if err == nil && n != m.DataBytes {
		err = errclass.New(errclass.IO, "the data is damaged: it has %d bytes, and should have %d", n, m.DataBytes)
	}
	if _, err = s.team.Agree(ctx, err); err != nil {
		return nil, err
	}
	values, err := s.readValues(ctx, f, m, entries)
	if err != nil {
		return nil, err
	}
	for i, p := range d.parts {
		if p == nil || d.entries[i].ElemBytes == 0 {
			continue // no rank has any of it
		}
		if err := s.readArray(ctx, f, m, entries[i], p, d.exact[i]); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// readValues reads the values on rank 0, and gives them to all.
func (s *Store) readValues(ctx context.Context, f *file.File, m *manifest.Manifest, entries []*manifest.Item) ([][]byte, error) {
	values := make([][]byte, len(entries))
	var err error
	for i, e := range entries {
		if e.Type != manifest.Value || s.team.Rank() != 0 || err != nil {
			continue
		}
		b := make([]byte, e.Len) // the file is that long
		if _, err = f.ReadAt(ctx, e.Off, mpi.Slice(b)); err == nil {
			p := sums.NewParts(e.Len, m.BlockBytes)
			p.Add(0, b)
			err = compare(e, p.Sums(), m.BlockBytes)
		}
		values[i] = b
	}
	if _, err := s.team.Agree(ctx, err); err != nil {
		return nil, err
	}
	for i, e := range entries {
		if e.Type != manifest.Value || e.Len == 0 {
			continue
		}
		if s.team.Rank() != 0 {
			values[i] = make([]byte, e.Len)
		}
		if err := s.team.Bcast(ctx, values[i], 0); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// compare compares the combined sums of an item, which it changes, with those in the manifest.
func compare(e *manifest.Item, got []uint32, block int64) error {
	sums.Whole(got, e.Len, block)
	for i := range got {
		if got[i] != e.Sums[i] {
			from := e.Off + int64(i)*block
			return errclass.New(errclass.IO, "%q is damaged: the checksum of bytes %d to %d of the data is %#08x, and should be %#08x",
				e.Name, from, min(from+block, e.Off+e.Len)-1, got[i], e.Sums[i])
		}
	}
	return nil
}

// readArray reads this rank's part of an array. exact says that the parts of all ranks have each byte
// once. Then the bytes that the ranks read are compared with the checksums; otherwise the stored bytes
// are read once more for that.
func (s *Store) readArray(ctx context.Context, f *file.File, m *manifest.Manifest, e *manifest.Item, p *part, exact bool) error {
	if err := f.SetView(ctx, e.Off, datatype.Byte, p.where, file.Native, nil); err != nil {
		return err
	}
	st, err := f.ReadAll(ctx, p.item.b)
	if err != nil {
		return err
	}
	if int64(st.Bytes) != p.mem.Size() {
		err = errclass.New(errclass.IO, "%q is damaged: %d bytes of this rank's part are there, and %d are not", e.Name, st.Bytes, p.mem.Size()-int64(st.Bytes))
	}
	if _, err := s.team.Agree(ctx, err); err != nil {
		return err
	}
	var got []uint32
	if exact {
		got = p.sums(e.Len, m.BlockBytes)
	} else if got, err = s.readSums(ctx, f, m, e); err != nil {
		return err
	}
	if len(got) > 0 {
		if err := s.team.Combine(ctx, mpi.Slice(got), mpi.BXor); err != nil {
			return err
		}
	}
	return compare(e, got, m.BlockBytes)
}

// readSums returns this rank's share of the checksums of a stored array. Each rank reads some of the
// blocks.
func (s *Store) readSums(ctx context.Context, f *file.File, m *manifest.Manifest, e *manifest.Item) ([]uint32, error) {
	if err := f.SetView(ctx, 0, datatype.Byte, datatype.Byte, file.Native, nil); err != nil {
		return nil, err
	}
	all := sums.NewParts(e.Len, m.BlockBytes)
	ranks, rank := int64(s.team.Size()), int64(s.team.Rank())
	share := sums.Count(sums.Count(e.Len, m.BlockBytes), ranks) * m.BlockBytes
	b := make([]byte, min(share, stagingBytes))
	var err error
	for at, end := min(rank*share, e.Len), min((rank+1)*share, e.Len); at < end && err == nil; {
		some := b[:min(int64(len(b)), end-at)]
		_, err = f.ReadAt(ctx, e.Off+at, mpi.Slice(some))
		all.Add(at, some)
		at += int64(len(some))
	}
	_, err = s.team.Agree(ctx, err)
	return all.Sums(), err
}
