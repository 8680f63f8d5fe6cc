package rma

import "github.com/viaduct-hpc/viaduct/mpi/datatype"

// runs walks over the memory of count elements of a type at the target: the runs of contiguous
// bytes, in the order of the packed bytes.
type runs struct {
	t          *datatype.Type
	pos, total int // packed bytes
}

// runsOf returns the runs of count elements. Its errors are those of PackSize.
func runsOf(t *datatype.Type, count int) (runs, error) {
	total, err := t.PackSize(count)
	return runs{t: t, total: total}, err
}

// Left returns how many bytes are left.
func (r *runs) Left() int { return r.total - r.pos }

// Next returns the next run, relative to the place of the first element, but at most most bytes of
// it, and advances. Its length is 0 at the end.
func (r *runs) Next(most int) (off, length int) {
	switch {
	case r.pos == r.total:
		return 0, 0
	case r.t.Contiguous():
		off, length = r.pos, r.total-r.pos
	default:
		off, length = r.find()
	}
	length = min(length, most)
	r.pos += length
	return off, length
}

// find returns the run that the next byte is in, from that byte on.
func (r *runs) find() (off, length int) {
	size := r.t.Size()
	_, extent := r.t.Extent()
	for run := range r.t.Runs(r.pos%size, size) {
		off, length = r.pos/size*extent+run.Off, run.Len
		break
	}
	return off, length
}
