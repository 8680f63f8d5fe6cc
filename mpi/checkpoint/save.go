package checkpoint

import (
	"context"
	"sync"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/checkpoint/internal/manifest"
	"github.com/viaduct-hpc/viaduct/mpi/checkpoint/internal/sums"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/file"
)

// Save makes a checkpoint of some items. step is a number of the program's own, which Restore returns.
// When Save returns without an error, the checkpoint survives the end of the job and a loss of power,
// and older ones than are to be kept are removed. If it returns an error, the checkpoint exists or
// not, and all others are as before.
func (s *Store) Save(ctx context.Context, step int64, items ...Item) error {
	return s.settle(ctx, s.save(ctx, step, items))
}

func (s *Store) save(ctx context.Context, step int64, items []Item) error {
	d, err := s.describe(ctx, true, step, items)
	if err != nil {
		return err
	}
	m := &manifest.Manifest{Step: step, Ranks: s.team.Size(), Items: d.entries}
	if err := d.place(m); err != nil {
		return err
	}
	if s.dir != nil {
		m.Number, err = s.makeReady(ctx)
	}
	all, err := s.team.Agree(ctx, err, m.Number)
	if err != nil {
		return err
	}
	m.Number = all[0]
	var summing sync.WaitGroup
	summing.Go(func() { s.sumUp(m, d) }) // while the data is written
	err = s.writeData(ctx, m, d)
	summing.Wait()
	if err != nil {
		s.removeData(ctx, m.Number)
		return err
	}
	if err := s.combineSums(ctx, m); err != nil {
		return err
	}
	if s.dir != nil {
		if err = s.publish(ctx, m); err == nil {
			err = s.prune(ctx)
		}
	}
	_, err = s.team.Agree(ctx, err)
	return err
}

// place checks that each element is saved once, and decides where everything lies.
func (d *description) place(m *manifest.Manifest) (err error) {
	for i := range d.entries {
		e := &d.entries[i]
		switch {
		case e.Type == manifest.Value:
		case !d.exact[i]:
			return errclass.New(errclass.Arg, "the parts of %q of shape %v that the ranks have leave some elements out, or have some several times: each element is in the part of one rank", e.Name, e.Shape)
		case e.ElemBytes == 0: // there are no elements
			e.ElemBytes, e.Kind = 1, datatype.KindByte.String()
		}
	}
	var ok bool
	if m.DataBytes, m.BlockBytes, ok = manifest.Place(d.entries); !ok {
		return errclass.New(errclass.ValueTooLarge, "the items together are larger than a checkpoint may be: save less")
	}
	return nil
}

// writeData writes the file with the data, and puts it on stable storage.
func (s *Store) writeData(ctx context.Context, m *manifest.Manifest, d *description) error {
	f, err := file.Open(ctx, s.team.Comm(), file.Join(s.name, manifest.DataName(m.Number)), file.ModeCreate|file.ModeExcl|file.ModeWronly, s.o.Info)
	if err != nil {
		return err
	}
	err = s.writeItems(ctx, f, m, d)
	if cerr := f.Close(ctx); err == nil { // which syncs
		err = cerr
	}
	return err
}

func (s *Store) writeItems(ctx context.Context, f *file.File, m *manifest.Manifest, d *description) error {
	var err error
	for i, b := range d.values {
		if len(b) > 0 && err == nil {
			_, err = f.WriteAt(ctx, m.Items[i].Off, mpi.Slice(b)) // rank 0 has them
		}
	}
	if _, err := s.team.Agree(ctx, err); err != nil {
		return err
	}
	for i, p := range d.parts {
		if p == nil {
			continue
		}
		if err := f.SetView(ctx, m.Items[i].Off, datatype.Byte, p.where, file.Native, nil); err != nil {
			return err
		}
		if _, err := f.WriteAll(ctx, p.item.b); err != nil {
			return err
		}
	}
	return nil
}

// sumUp computes this rank's share of the checksums of all blocks.
func (s *Store) sumUp(m *manifest.Manifest, d *description) {
	for i := range m.Items {
		e := &m.Items[i]
		switch {
		case d.parts[i] != nil:
			e.Sums = d.parts[i].sums(e.Len, m.BlockBytes)
		case s.team.Rank() == 0:
			p := sums.NewParts(e.Len, m.BlockBytes)
			p.Add(0, d.values[i])
			e.Sums = p.Sums()
		default:
			e.Sums = make([]uint32, sums.Count(e.Len, m.BlockBytes))
		}
	}
}

// combineSums makes the checksums of all blocks of the shares of all ranks.
func (s *Store) combineSums(ctx context.Context, m *manifest.Manifest) error {
	var all []uint32
	for i := range m.Items {
		all = append(all, m.Items[i].Sums...)
	}
	if len(all) == 0 {
		return nil
	}
	if err := s.team.Combine(ctx, mpi.Slice(all), mpi.BXor); err != nil {
		return err
	}
	for i := range m.Items {
		e := &m.Items[i]
		n := len(e.Sums)
		e.Sums, all = all[:n:n], all[n:]
		sums.Whole(e.Sums, e.Len, m.BlockBytes)
	}
	return nil
}
