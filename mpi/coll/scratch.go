package coll

const (
	// scratchBytesMin is the first piece of memory that a Scratch takes.
	scratchBytesMin = 4 << 10
	// ScratchBytesKept is how much a Scratch keeps from one operation to the
	// next. What an operation needs beyond goes back to the garbage collector.
	ScratchBytesKept = 16 << 20
	// scratchAlign is the alignment of what a Scratch gives, that of the widest
	// element.
	scratchAlign = 16
)

// A Scratch is memory for what operations keep in between, so that small ones
// allocate nothing. It serves one operation at a time; a communicator has one
// for its blocking operations, and each of its non-blocking ones needs its own.
// The zero Scratch is ready for use, and so is a nil one, which keeps nothing.
//
// It is a stack: a function that takes from it calls mark first and release
// when it is done.
type Scratch struct {
	chunk   []byte
	used    int // 0 ≤ used ≤ len(chunk)
	serial  int // counts chunks, so that release knows a later one
	pending []Pending
}

// A mark is where a Scratch stood.
type mark struct{ used, serial int }

func (s *Scratch) mark() mark {
	if s == nil {
		return mark{}
	}
	return mark{used: s.used, serial: s.serial}
}

// release takes everything back that was taken since the mark.
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

// bytes gives n bytes of any content, until release.
func (s *Scratch) bytes(n int) []byte {
	if s == nil {
		return make([]byte, n)
	}
	need := (n + scratchAlign - 1) &^ (scratchAlign - 1)
	if need > len(s.chunk)-s.used {
		// The chunk before lives on as long as somebody has a slice of it.
		s.chunk = make([]byte, max(need, min(2*len(s.chunk), ScratchBytesKept), scratchBytesMin))
		s.used = 0
		s.serial++
	}
	b := s.chunk[s.used : s.used+n : s.used+need]
	s.used += need
	return b
}

// flight gives an empty list for what is begun and not yet waited for.
func (s *Scratch) flight() flight {
	if s == nil {
		return flight{}
	}
	return flight{list: s.pending[:0], of: s}
}

// A flight is sends and receives that were begun together. The first error
// counts; after it nothing more is begun, and land still waits for all that
// was, because their memory is the caller's.
type flight struct {
	list []Pending
	of   *Scratch
	err  error
}

func (f *flight) send(c Comm, to int, b []byte) {
	if f.err == nil && len(b) > 0 {
		f.add(c.Isend(to, b))
	}
}

func (f *flight) recv(c Comm, from int, b []byte) {
	if f.err == nil && len(b) > 0 {
		f.add(c.Irecv(from, b))
	}
}

func (f *flight) add(p Pending, err error) {
	if err != nil {
		f.err = err
		return
	}
	f.list = append(f.list, p)
}

// land waits for everything and gives the list back.
func (f *flight) land() error {
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
