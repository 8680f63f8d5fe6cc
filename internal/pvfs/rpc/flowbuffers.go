package rpc

import (
	"strings"
	"sync"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// flowBuffers keeps the buffers of flows, separately for each network method: registered memory if the method supports that.
type flowBuffers struct {
	ep   *bmi.Endpoint
	size int
	most int // bytes in all, not counting the first buffer of each flow

	mu    sync.Mutex
	bytes int // in use and kept
	kept  map[string][]flowBuffer
	lent  map[*byte]flowBuffer
}

type flowBuffer struct {
	mem  []byte
	from bmi.Addr // the peer for which it was allocated
	own  bool     // plain memory, not registered
}

func methodOf(a bmi.Addr) string {
	name, _, _ := strings.Cut(a.String(), "://")
	return name
}

// take returns a buffer for a peer; nil: none is left, and must is not set.
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

// oneLocked returns one buffer. It allocates beyond the limit only if must is set.
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
		_ = b.ep.Free(fb.from, fb.mem) // an error means that the endpoint is closed, which frees the memory too
	}
}

// give takes back the buffers of slots.
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

// free frees the kept buffers.
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
