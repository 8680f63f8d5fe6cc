package rma

import (
	"math"
	"math/bits"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// A Target is the place in a window that an operation is for (MPI-4.1, 12.3).
type Target struct {
	rank, disp int
	typed      bool
	count      int
	t          *datatype.Type
}

// At returns the place disp steps (DispUnit of the target) behind the beginning of a rank's part. In
// a dynamic window, disp is what Attach returned there, plus an offset in bytes. There are as many
// elements, of the same type, as in the memory of the origin; Typed changes that. Operations at
// mpi.ProcNull do nothing.
func At(rank, disp int) Target { return Target{rank: rank, disp: disp} }

// Typed returns the place with count elements of t. Together they have as many bytes of data as the
// origin.
func (a Target) Typed(count int, t *datatype.Type) Target {
	a.typed, a.count, a.t = true, count, t
	return a
}

// fill completes a place: without Typed, it has the elements of the origin.
func (a *Target) fill(count int, t *datatype.Type) {
	if !a.typed {
		a.count, a.t = count, t
	}
}

// place returns where in the target's part, in bytes, the elements of a place begin. It checks what
// the origin can know.
func (w *Win) place(a *Target) (int, error) {
	p := &w.peers[a.rank]
	switch {
	case a.t == nil:
		return 0, errclass.New(errclass.Type, "the datatype at the target is nil: give one of package datatype")
	case a.count < 0:
		return 0, errclass.New(errclass.Count, "%d elements at the target: give 0 or more", a.count)
	case a.disp < 0:
		return 0, errclass.New(errclass.Disp, "the displacement is %d: give 0 or more", a.disp)
	}
	high, base := bits.Mul64(uint64(a.disp), uint64(p.unit))
	if high != 0 || base > math.MaxInt {
		return 0, errclass.New(errclass.RMARange, "displacement %d in steps of %d bytes is beyond all memory", a.disp, p.unit)
	}
	if p.size < 0 {
		return int(base), nil // only the target knows what is attached
	}
	if err := a.t.Fits(p.size, int(base), a.count); err != nil {
		return 0, errclass.Wrap(errclass.RMARange, err, "rank %d has %d bytes in the window, and displacement %d is byte %d", a.rank, p.size, a.disp, base)
	}
	return int(base), nil
}

// memory is the memory of an origin or a result.
type memory struct {
	mem           []byte
	origin, count int
	t             *datatype.Type
}

func memoryOf(b mpi.Buffer) (m memory, err error) {
	m.mem, m.origin, m.count, m.t, err = b.Memory()
	if err == nil && m.t == nil {
		err = errclass.New(errclass.Buffer, "the memory is InPlace, which only collective operations take")
	}
	return m, err
}

// bytes returns the packed size.
func (m *memory) bytes() int { return m.count * m.t.Size() }

// piece returns the memory if it is contiguous.
func (m *memory) piece() ([]byte, bool) {
	if m.t.Contiguous() {
		return m.mem[m.origin:][:m.bytes()], true
	}
	off, n, ok := m.t.Piece(m.count)
	if !ok {
		return nil, false
	}
	return m.mem[m.origin+off:][:n], true
}

// whole returns the memory with all gaps between and in its elements, if these lie one behind the
// other.
func (m *memory) whole() ([]byte, bool) {
	lb, extent := m.t.Extent()
	if lb != 0 || extent <= 0 || m.count > (len(m.mem)-m.origin)/extent {
		return nil, m.count == 0
	}
	return m.mem[m.origin:][:m.count*extent], true
}

// cursor returns a cursor at the beginning.
func (m *memory) cursor() (datatype.Cursor, error) {
	return datatype.NewCursor(m.t, m.mem, m.origin, m.count)
}
