package checkpoint

import (
	"context"
	"encoding/binary"
	"hash/fnv"
	"slices"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/checkpoint/internal/manifest"
	"github.com/viaduct-hpc/viaduct/mpi/checkpoint/internal/sums"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// A description is what all ranks have agreed to save or restore.
type description struct {
	// entries describe the items as a manifest does, and are the same on all ranks. For Restore, they
	// lack the lengths of values. If no rank has a part of an array, its elements have 0 bytes.
	entries []manifest.Item
	parts   []*part  // of arrays; nil for values
	values  [][]byte // that rank 0 saves; nil for arrays
	// exact: all parts together have each byte of the array once.
	exact []bool
}

// describe checks the items of all ranks against each other. saving says that it is for Save of a step.
func (s *Store) describe(ctx context.Context, saving bool, step int64, items []Item) (*description, error) {
	err := checkItems(items)
	all, err := s.team.Agree(ctx, err, step, int64(hash(items)))
	if err != nil {
		return nil, err
	}
	for rank := range s.team.Size() {
		switch {
		case all[2*rank] != all[0]:
			return nil, errclass.New(errclass.NotSame, "rank %d gives step %d, and rank 0 step %d: give the same everywhere", rank, all[2*rank], all[0])
		case all[2*rank+1] != all[1]:
			return nil, errclass.New(errclass.NotSame, "the items of rank %d have other names, types or shapes than those of rank 0, or another order: give the same everywhere", rank)
		}
	}
	d := &description{}
	err = d.inspect(saving, s.team.Rank() == 0, items)
	words := make([]int64, 2*len(items)) // the size and the kind of elements
	if err == nil {
		for i, p := range d.parts {
			switch {
			case p != nil:
				words[2*i], words[2*i+1] = p.elem, int64(p.kind)
			case saving:
				words[2*i] = int64(len(d.values[i]))
			}
		}
	}
	if all, err = s.team.Agree(ctx, err, words...); err != nil {
		return nil, err
	}
	if err := d.join(items, all); err != nil {
		return nil, err
	}
	return d, s.cover(ctx, d)
}

// hash returns a number for what must be the same on all ranks.
func hash(items []Item) uint64 {
	h := fnv.New64a()
	var b []byte
	for i := range items {
		it := &items[i]
		b = append(b[:0], byte(it.typ), byte(len(it.shape)))
		b = binary.LittleEndian.AppendUint32(b, uint32(len(it.name)))
		b = append(b, it.name...)
		for _, d := range it.shape {
			b = binary.LittleEndian.AppendUint64(b, uint64(d))
		}
		_, _ = h.Write(b) // never fails
	}
	return h.Sum64()
}

// inspect looks at this rank's arguments.
func (d *description) inspect(saving, encoding bool, items []Item) error {
	d.parts, d.values = make([]*part, len(items)), make([][]byte, len(items))
	for i := range items {
		it := &items[i]
		var err error
		switch {
		case it.typ == manifest.Array:
			d.parts[i], err = newPart(it, !saving)
		case saving && encoding:
			d.values[i], err = it.encode()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// join makes the entries of what all ranks have said about sizes and kinds.
func (d *description) join(items []Item, all []int64) error {
	d.entries = make([]manifest.Item, len(items))
	for i := range items {
		it, e := &items[i], &d.entries[i]
		e.Name, e.Type = it.name, it.typ
		if it.typ == manifest.Value {
			e.Len = all[2*i] // rank 0's
			continue
		}
		e.Shape = wide(it.shape)
		for at := 2 * i; at < len(all); at += 2 * len(items) {
			elem, kind := all[at], datatype.Kind(all[at+1]).String()
			switch {
			case elem == 0:
			case e.ElemBytes == 0:
				e.ElemBytes, e.Kind = elem, kind
			case elem != e.ElemBytes || kind != e.Kind:
				return errclass.New(errclass.NotSame, "%q has elements of %d bytes of kind %s on rank %d, and of %d bytes of kind %s on a lower one: give the same everywhere",
					it.name, elem, kind, at/(2*len(items)), e.ElemBytes, e.Kind)
			}
		}
		n, ok := manifest.Bytes(e.Shape, e.ElemBytes)
		if !ok {
			return errTooLarge(it)
		}
		e.Len = n
	}
	return nil
}

// cover finds out whether all parts of an array together have each byte of it once.
func (s *Store) cover(ctx context.Context, d *description) error {
	marks := make([]uint64, len(d.parts))
	for i, p := range d.parts {
		if p != nil {
			marks[i] = p.mark()
		}
	}
	if len(marks) > 0 {
		if err := s.team.Combine(ctx, mpi.Slice(marks), mpi.Sum); err != nil {
			return err
		}
	}
	d.exact = make([]bool, len(marks))
	for i := range marks {
		e := &d.entries[i]
		d.exact[i] = e.Type == manifest.Array && marks[i] == sums.Mark(0, e.Len) && (e.ElemBytes > 0 || slices.Contains(e.Shape, 0))
	}
	return nil
}
