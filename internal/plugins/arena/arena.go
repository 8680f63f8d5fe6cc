// Package arena allocates pieces of a memory that two processes share. Only the process that owns
// an Arena allocates and frees; the other one gets offsets.
//
// The sizes of pieces are powers of two, and free pieces are joined again (a buddy system:
// Knowlton, A fast storage allocator, CACM 8(10), 1965). The state of pieces is kept in private
// memory, where the other process cannot change it. Each half has its own lists, so that an
// allocation in one half never divides the other (AllocIn). The piece that was freed last is
// allocated first, because it is most likely still in a cache.
//
// Used pages are never returned to the system. With MADV_REMOVE, each reuse of a large piece would
// fault in and clear it again, which costs more than the copy that the piece is for. Because the
// same pieces are used again and again, the memory in use is that of the busiest moment.
package arena

import (
	"fmt"
	"math"
	"math/bits"
	"unsafe"
)

const (
	// PieceMin is the size of the smallest piece, in bytes: a page, so that messages never share a
	// page.
	PieceMin = 4 << 10
	// SizeMax limits an arena, in bytes: pages have 32-bit numbers.
	SizeMax = PieceMin << 31
)

// An Arena allocates pieces of a memory. One goroutine at a time uses it.
type Arena struct {
	mem   []byte
	heads [2][]uint32 // the latest free piece of each order in each half: PieceMin << order bytes
	pages []page
	used  int // number of allocated pieces
	bytes int // and their size
}

// A Half is one of the two halves of an Arena.
type Half int

// Lower and Upper are the halves. A piece that is larger than a half counts as Lower.
const (
	Lower Half = iota
	Upper
)

// A page is the state of the piece that begins at a page.
type page struct {
	next, prev uint32 // free pieces of the same order, none at the ends of the list
	state      uint8  // 0: no piece begins here; otherwise its order + 1, and isUsed
}

const (
	none   = math.MaxUint32
	isUsed = 0x80
)

// New makes an Arena of mem, whose length is a power of two from PieceMin to SizeMax. It needs 12
// bytes of private memory for each page.
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

// orderOf returns the order of the smallest piece for size bytes.
func orderOf(size int) int { return bits.Len(uint(max(size, 1)-1) / PieceMin) }

// top returns the order of a piece that is the whole arena.
func (a *Arena) top() int { return len(a.heads[Lower]) - 1 }

// half returns the half in which a page lies.
func (a *Arena) half(at uint32) Half {
	if int(at) < (len(a.pages)+1)/2 {
		return Lower
	}
	return Upper
}

// push adds a free piece that begins at a page.
func (a *Arena) push(at uint32, order int) {
	heads := a.heads[a.half(at)]
	head := heads[order]
	a.pages[at] = page{next: head, prev: none, state: uint8(order + 1)}
	if head != none {
		a.pages[head].prev = at
	}
	heads[order] = at
}

// unlink removes a free piece from its list.
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

// Alloc allocates a piece for size bytes, size > 0; ok is false if there is none.
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

// AllocIn allocates a piece in a half, without dividing the other one.
func (a *Arena) AllocIn(half Half, size int) (mem []byte, ok bool) {
	order, top := orderOf(size), a.top()
	if size <= 0 || order >= top {
		return nil, false
	}
	if a.heads[Lower][top] != none { // nothing is allocated
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

// take allocates a free piece of the order from, or the part of a lower order at its beginning.
func (a *Arena) take(at uint32, from, order, size int) []byte {
	a.unlink(at, from)
	for from > order { // the upper half stays free
		from--
		a.push(at+1<<from, from)
	}
	a.pages[at].state = uint8(order+1) | isUsed
	a.used++
	a.bytes += PieceMin << order
	off := int(at) * PieceMin
	return a.mem[off : off+size : off+size]
}

// Free frees a piece. It returns false if no allocated piece begins where mem begins.
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

// Offset returns the offset of mem; ok is false if mem does not lie completely in the Arena, or is
// empty.
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

// Used returns the number of allocated pieces.
func (a *Arena) Used() int { return a.used }

// UsedBytes returns the size of the allocated pieces in bytes, after rounding up.
func (a *Arena) UsedBytes() int { return a.bytes }

// Size returns the length of the memory, in bytes.
func (a *Arena) Size() int { return len(a.mem) }
