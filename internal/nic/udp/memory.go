package udp

import (
	"encoding/binary"
	"fmt"
	"io"
	"unsafe"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// A memory is the registered memory of a device. A handle has the number of its entry
// and the entry's generation, so that a stale handle finds nothing.
type memory struct {
	entries []region
	free    []uint32
	salt    uint32 // of the generations: makes handles unpredictable
}

// A region is one registration.
type region struct {
	mem        []byte
	access     nic.Access
	tag        nic.ProtectionTag
	generation uint32
	used       bool
}

func (m *memory) init(random io.Reader) error {
	var b [4]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return fmt.Errorf("udp: no random numbers: %w", err)
	}
	m.salt = binary.LittleEndian.Uint32(b[:])
	return nil
}

// register adds memory and returns its handle.
func (m *memory) register(mem []byte, access nic.Access, tag nic.ProtectionTag) (nic.Handle, error) {
	var i uint32
	switch {
	case len(m.free) > 0:
		i = m.free[len(m.free)-1]
		m.free = m.free[:len(m.free)-1]
	case len(m.entries) < RegionsMax:
		i = uint32(len(m.entries))
		m.entries = append(m.entries, region{})
	default:
		return 0, fmt.Errorf("udp: all %d memory registrations are in use, withdraw some: %w", RegionsMax, nic.ErrAgain)
	}
	r := &m.entries[i]
	*r = region{mem: mem, access: access, tag: tag, generation: r.generation + 1, used: true}
	return m.handle(i), nil
}

// handle is the name of entry i; never 0.
func (m *memory) handle(i uint32) nic.Handle {
	return nic.Handle(i+1) | nic.Handle(m.entries[i].generation^m.salt)<<32
}

// find returns the region that a handle names, or nil.
func (m *memory) find(h nic.Handle) *region {
	i := uint32(h) - 1
	if uint32(h) == 0 || int64(i) >= int64(len(m.entries)) || !m.entries[i].used || m.handle(i) != h {
		return nil
	}
	return &m.entries[i]
}

// deregister withdraws memory. From then on no remote side can reach it: the memory is
// looked up again whenever data is placed, sent or retransmitted, and data in an
// outbox is a copy.
func (m *memory) deregister(h nic.Handle) error {
	r := m.find(h)
	if r == nil {
		return nic.ErrUnknownHandle
	}
	r.mem, r.used = nil, false
	m.free = append(m.free, uint32(h)-1)
	return nil
}

// covers reports whether local memory is in a registration of the tag.
func (m *memory) covers(h nic.Handle, b []byte, tag nic.ProtectionTag) bool {
	r := m.find(h)
	if r == nil || r.tag != tag {
		return false
	}
	_, ok := r.slice(addrOf(b), len(b))
	return ok || len(b) == 0
}

// remote returns memory that a remote side names, if a port with this tag allows the
// access.
func (m *memory) remote(addr uint64, h nic.Handle, size int, tag nic.ProtectionTag, access nic.Access) ([]byte, bool) {
	r := m.find(h)
	if r == nil || r.tag != tag || r.access&access == 0 {
		return nil, false
	}
	return r.slice(addr, size)
}

// slice returns the part of a region that starts at an address.
func (r *region) slice(addr uint64, size int) ([]byte, bool) {
	base := addrOf(r.mem)
	off := addr - base
	if addr < base || size < 0 || off > uint64(len(r.mem)) || uint64(size) > uint64(len(r.mem))-off {
		return nil, false
	}
	return r.mem[off : off+uint64(size) : off+uint64(size)], true
}

func addrOf(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }
