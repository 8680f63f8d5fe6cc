package coll

const (
	// scratchBytesMin is the size of the first memory that a Scratch allocates.
	scratchBytesMin = 4 << 10
	// ScratchBytesKept is how much memory a Scratch keeps from one operation to the
	// next. The garbage collector frees the rest.
	ScratchBytesKept = 16 << 20
	// scratchAlign is the alignment of memory from a Scratch, that of the widest
	// element.
	scratchAlign = 16
)

// A Scratch is memory for intermediate data of operations, so that small ones
// allocate nothing. It serves one operation at a time: a communicator has one for
// its blocking operations, and each non-blocking one needs its own. The zero
// Scratch is ready for use. A nil Scratch works too, but keeps nothing.
//
// It is a stack: a function that takes memory calls mark first and release at its
// end.
type Scratch struct {
	chunk   []byte
	used    int // 0 ≤ used ≤ len(chunk)
	serial  int // counts chunks, so that release notices a new one
	pending []Pending
}

// A mark is a position in a Scratch.
type mark struct{ used, serial int }

func (s *Scratch) mark() mark {
	if s == nil {
		return mark{}
	}
	return mark{used: s.used, serial: s.serial}
}

// release takes back all memory that was taken since the mark.
func (s *Scratch) release(m mark) {
	if s == nil {
		return
	}
	s.used = 0
	if m.serial == s.serial {
		s.used = m.used
	}
	if s.used == 0 && len(s.chunk) > ScratchBytesKept {
		s.chunk = nil
		s.serial++
	}
}

// bytes returns n bytes of arbitrary content, valid until release.
func (s *Scratch) bytes(n int) []byte {
	if s == nil {
		return make([]byte, n)
	}
	need := (n + scratchAlign - 1) &^ (scratchAlign - 1)
	if need > len(s.chunk)-s.used {
		// The previous chunk stays alive while slices of it are in use.
		s.chunk = make([]byte, max(need, min(2*len(s.chunk), ScratchBytesKept), scratchBytesMin))
		s.used = 0
		s.serial++
	}
	b := s.chunk[s.used : s.used+n : s.used+need]
	s.used += need
	return b
}

// flight returns an empty list of pending sends and receives.
func (s *Scratch) flight() Flight {
	if s == nil {
		return Flight{}
	}
	return Flight{list: s.pending[:0], of: s}
}

// A Flight is a set of sends and receives that were begun together. After the first
// error nothing more is begun, but Land still waits for all that were, because
// their memory belongs to the caller.
type Flight struct {
	list []Pending
	of   *Scratch
	err  error
}

func (f *Flight) send(c Comm, to int, b []byte) {
	if f.err == nil && len(b) > 0 {
		f.add(c.Isend(to, b))
	}
}

func (f *Flight) recv(c Comm, from int, b []byte) {
	if f.err == nil && len(b) > 0 {
		f.add(c.Irecv(from, b))
	}
}

func (f *Flight) add(p Pending, err error) {
	if err != nil {
		f.err = err
		return
	}
	f.list = append(f.list, p)
}

// Land waits for all of them and returns the list to the Scratch.
func (f Flight) Land() error {
	for i, p := range f.list {
		if err := p.Wait(); err != nil && f.err == nil {
			f.err = err
		}
		f.list[i] = nil
	}
	if f.of != nil {
		f.of.pending = f.list[:0]
	}
	return f.err
}
