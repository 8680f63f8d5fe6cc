package rpc

import (
	"strings"
	"sync"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// flowBuffers keeps the buffers of flows, for each method its own: registered memory where
// the method has such.
type flowBuffers struct {
	ep   *bmi.Endpoint
	size int
	most int // bytes in all, but for one buffer of each flow

	mu    sync.Mutex
	bytes int // used and kept
	kept  map[string][]flowBuffer
	lent  map[*byte]flowBuffer
}

type flowBuffer struct {
	mem  []byte
	from bmi.Addr // with which it was allocated
	own  bool     // plain memory
}

func methodOf(a bmi.Addr) string {
	name, _, _ := strings.Cut(a.String(), "://")
	return name
}

// take is a buffer for a peer; nil: there is none left, and must is not set.
func (b *flowBuffers) take(a bmi.Addr, must bool) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.kept == nil {
		b.kept, b.lent = make(map[string][]flowBuffer), make(map[*byte]flowBuffer)
	}
	fb, ok := b.oneLocked(methodOf(a), a, must)
	if ok {
		b.lent[&fb.mem[0]] = fb
	}
	return fb.mem
}

// oneLocked is one buffer; a new one is over the limit only if it must be.
func (b *flowBuffers) oneLocked(method string, a bmi.Addr, must bool) (flowBuffer, bool) {
	if kept := b.kept[method]; len(kept) > 0 {
		fb := kept[len(kept)-1]
		b.kept[method] = kept[:len(kept)-1]
		return fb, true
	}
	if b.bytes+b.size > b.most && !b.otherLocked(method) && !must {
		return flowBuffer{}, false
	}
	b.bytes += b.size
	mem, err := b.ep.Alloc(a, b.size)
	if err != nil || len(mem) < b.size {
		return flowBuffer{mem: make([]byte, b.size), own: true}, true
	}
	return flowBuffer{mem: mem[:b.size], from: a}, true
}

// otherLocked frees a kept buffer of another method.
func (b *flowBuffers) otherLocked(method string) bool {
	for other, kept := range b.kept {
		if other != method && len(kept) > 0 {
			b.kept[other] = kept[:len(kept)-1]
			b.freeLocked(kept[len(kept)-1])
			return true
		}
	}
	return false
}

func (b *flowBuffers) freeLocked(fb flowBuffer) {
	b.bytes -= b.size
	if !fb.own {
		_ = b.ep.Free(fb.from, fb.mem) // what fails is the endpoint's end, which frees it, too
	}
}

// give takes the buffers of slots back.
func (b *flowBuffers) give(a bmi.Addr, slots []slot) {
	method := methodOf(a)
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range slots {
		if slots[i].buf == nil {
			continue
		}
		fb := b.lent[&slots[i].buf[0]]
		delete(b.lent, &slots[i].buf[0])
		slots[i].buf = nil
		if b.bytes > b.most {
			b.freeLocked(fb)
			continue
		}
		b.kept[method] = append(b.kept[method], fb)
	}
}

// free gives back what is kept.
func (b *flowBuffers) free() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for method, kept := range b.kept {
		for _, fb := range kept {
			b.freeLocked(fb)
		}
		delete(b.kept, method)
	}
}

func (b *flowBuffers) total() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.bytes
}
