// Package arena gives out pieces of one memory that two processes share. Only the
// process that owns an Arena gives out and takes back; the other one is told offsets.
//
// Pieces are powers of two, of which the free ones join again (a buddy system: Knowlton,
// A fast storage allocator, CACM 8(10), 1965). What is known of them is kept beside the
// memory, where the other process cannot write. Each half has lists of its own, so that
// nobody who takes from the other one divides it (AllocIn). The piece that was taken back
// last is given out first: it is the one that is most likely in a cache still.
//
// Pages that were touched stay: to give them back to the system (MADV_REMOVE) would have
// each reuse of a large piece fault in and clear all of it again, which costs more than
// the copy that the piece is for. As the same pieces are used again and again, what stays
// is what was out at once at the busiest time.
package arena

import (
	"fmt"
	"math"
	"math/bits"
	"unsafe"
)

const (
	// PieceMin is the size of the smallest piece, in bytes: a page, so that what one
	// message touches is not another's.
	PieceMin = 4 << 10
	// SizeMax bounds an arena, in bytes: pages have 32-bit numbers.
	SizeMax = PieceMin << 31
)

// An Arena gives out pieces of a memory. One goroutine at a time uses it.
type Arena struct {
	mem   []byte
	heads [2][]uint32 // the latest free piece of each order in each half: PieceMin << order bytes
	pages []page
	used  int // pieces that are out
	bytes int // and what they take
}

// A Half is one of the two halves of an Arena.
type Half int

// Lower and Upper are the halves. A piece that is larger than a half counts as Lower.
const (
	Lower Half = iota
	Upper
)

// A page says what begins there.
type page struct {
	next, prev uint32 // free pieces of the same order, none at the ends
	state      uint8  // 0: no piece begins here; else its order + 1, and isUsed
}

const (
	none   = math.MaxUint32
	isUsed = 0x80
)

// New makes an Arena of mem, whose length is a power of two from PieceMin to SizeMax. It
// takes 12 bytes of private memory for each page.
func New(mem []byte) (*Arena, error) {
	if len(mem) < PieceMin || len(mem) > SizeMax || len(mem)&(len(mem)-1) != 0 {
		return nil, fmt.Errorf("arena: %d bytes, want a power of two from %d to %d", len(mem), PieceMin, SizeMax)
	}
	a := &Arena{mem: mem, pages: make([]page, len(mem)/PieceMin)}
	for half := range a.heads {
		a.heads[half] = make([]uint32, orderOf(len(mem))+1)
		for i := range a.heads[half] {
			a.heads[half][i] = none
		}
	}
	a.push(0, a.top())
	return a, nil
}

// orderOf is the order of the smallest piece that has room for size bytes.
func orderOf(size int) int { return bits.Len(uint(max(size, 1)-1) / PieceMin) }

// top is the order of a piece that is the whole arena.
func (a *Arena) top() int { return len(a.heads[Lower]) - 1 }

// half is where a page lies.
func (a *Arena) half(at uint32) Half {
	if int(at) < (len(a.pages)+1)/2 {
		return Lower
	}
	return Upper
}

// push adds a free piece, which begins at a page.
func (a *Arena) push(at uint32, order int) {
	heads := a.heads[a.half(at)]
	head := heads[order]
	a.pages[at] = page{next: head, prev: none, state: uint8(order + 1)}
	if head != none {
		a.pages[head].prev = at
	}
	heads[order] = at
}

// unlink takes a free piece out of its list.
func (a *Arena) unlink(at uint32, order int) {
	p := &a.pages[at]
	if p.prev == none {
		a.heads[a.half(at)][order] = p.next
	} else {
		a.pages[p.prev].next = p.next
	}
	if p.next != none {
		a.pages[p.next].prev = p.prev
	}
	p.state = 0
}

// Alloc gives out a piece for size bytes, size > 0; ok is false if there is none.
func (a *Arena) Alloc(size int) (mem []byte, ok bool) {
	if mem, ok = a.AllocIn(Lower, size); ok {
		return mem, true
	}
	if mem, ok = a.AllocIn(Upper, size); ok {
		return mem, true
	}
	if top := a.top(); size > 0 && orderOf(size) == top && a.heads[Lower][top] != none {
		return a.take(0, top, top, size), true
	}
	return nil, false
}

// AllocIn gives out a piece of a half, whatever became of the other one.
func (a *Arena) AllocIn(half Half, size int) (mem []byte, ok bool) {
	order, top := orderOf(size), a.top()
	if size <= 0 || order >= top {
		return nil, false
	}
	if a.heads[Lower][top] != none { // nothing is out
		a.unlink(0, top)
		a.push(uint32(len(a.pages)/2), top-1)
		a.push(0, top-1)
	}
	from := order
	for from < top && a.heads[half][from] == none {
		from++
	}
	if from == top {
		return nil, false
	}
	return a.take(a.heads[half][from], from, order, size), true
}

// take gives out a free piece, of the order from, or its beginning, of a lower order.
func (a *Arena) take(at uint32, from, order, size int) []byte {
	a.unlink(at, from)
	for from > order { // the upper half stays
		from--
		a.push(at+1<<from, from)
	}
	a.pages[at].state = uint8(order+1) | isUsed
	a.used++
	a.bytes += PieceMin << order
	off := int(at) * PieceMin
	return a.mem[off : off+size : off+size]
}

// Free takes a piece back. It reports false if mem does not begin where a piece does that
// was given out.
func (a *Arena) Free(mem []byte) bool {
	off, ok := a.Offset(mem)
	if !ok || off%PieceMin != 0 {
		return false
	}
	at := uint32(off / PieceMin)
	state := a.pages[at].state
	if state&isUsed == 0 {
		return false
	}
	order := int(state&^isUsed) - 1
	a.pages[at].state = 0
	a.used--
	a.bytes -= PieceMin << order
	for ; order < a.top(); order++ {
		buddy := at ^ 1<<order
		if a.pages[buddy].state != uint8(order+1) {
			break
		}
		a.unlink(buddy, order)
		at = min(at, buddy)
	}
	a.push(at, order)
	return true
}

// Offset is where mem lies; ok is false if it does not lie in the Arena as a whole. Memory
// of no length lies nowhere.
func (a *Arena) Offset(mem []byte) (off int, ok bool) {
	if len(mem) == 0 || len(mem) > len(a.mem) {
		return 0, false
	}
	start, at := uintptr(unsafe.Pointer(unsafe.SliceData(a.mem))), uintptr(unsafe.Pointer(unsafe.SliceData(mem)))
	if at < start || at-start > uintptr(len(a.mem)-len(mem)) {
		return 0, false
	}
	return int(at - start), true
}

// Used is how many pieces are out.
func (a *Arena) Used() int { return a.used }

// UsedBytes is what they take, in bytes: more than was asked for.
func (a *Arena) UsedBytes() int { return a.bytes }

// Size is the length of the memory, in bytes.
func (a *Arena) Size() int { return len(a.mem) }
