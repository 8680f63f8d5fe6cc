package shm

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// A handle has the entry's index plus one in the low bits and the entry's
// generation above, so that no handle is 0 and none names two registrations.
const handleIndexBits = 14 // layout.go checks that tableEntries fit

func makeHandle(index int, generation uint64) nic.Handle {
	return nic.Handle(generation<<handleIndexBits | uint64(index+1))
}

// handleIndex is the index of the entry that a handle claims to name, or -1.
func handleIndex(h nic.Handle) int {
	i := int(h&(1<<handleIndexBits-1)) - 1
	if i >= tableEntries {
		return -1
	}
	return i
}

// registration is our side of a table entry; peers see only the table.
type registration struct {
	mem        []byte // also keeps the memory reachable
	handle     nic.Handle
	tag        nic.ProtectionTag
	generation uint64
	closing    bool // Deregister has begun, and a remote access was under way
}

// table is a device's registered memory. Peers map it read-only.
//
// Withdrawal uses Dekker's algorithm: Deregister clears the entry, then checks
// the peers' hazard words; a peer sets its hazard word, then checks the entry.
// One of them always sees the other.
type table struct {
	fd   int
	mem  []byte
	regs []registration
	free []int32
	base uint64 // first generation of an entry, random: handles of an earlier device are stale here
}

func (t *table) open() error {
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		return fmt.Errorf("shm: no random numbers: %w", err)
	}
	t.base = binary.NativeEndian.Uint64(b[:]) & (1<<48 - 1)
	fd, mem, err := newTable()
	t.fd, t.mem = fd, mem
	return err
}

// blankTable is a table for peers that must know nothing of our memory.
func (d *Device) blankTable() (int, error) {
	if d.blank < 0 {
		fd, mem, err := newTable()
		if err != nil {
			return -1, err
		}
		unmap(mem)
		d.blank = fd
	}
	return d.blank, nil
}

func (t *table) close() {
	closeFD(t.fd)
	unmap(t.mem)
	t.fd, t.mem, t.regs = -1, nil, nil
}

func (t *table) word(index int, off uintptr) *uint64 {
	return wordAt(t.mem, uintptr(index)*entryBytes+off)
}

func (t *table) add(mem []byte, access nic.Access, tag nic.ProtectionTag, descriptor uint64) (nic.Handle, error) {
	var index int
	if n := len(t.free); n > 0 {
		index = int(t.free[n-1])
		t.free = t.free[:n-1]
	} else {
		if index = len(t.regs); index == tableEntries {
			return 0, fmt.Errorf("shm: all %d memory registrations are in use, deregister some: %w", tableEntries, nic.ErrAgain)
		}
		if off := index * entryBytes; off%pageBytes == 0 {
			if err := backPages(t.mem[off:][:pageBytes]); err != nil {
				return 0, resourceError("registration table", err)
			}
		}
		t.regs = append(t.regs, registration{generation: t.base})
	}
	r := &t.regs[index]
	r.generation++
	r.mem, r.tag, r.closing = mem, tag, false
	r.handle = makeHandle(index, r.generation)
	atomic.StoreUint64(t.word(index, entryAddr), uint64(uintptr(unsafe.Pointer(unsafe.SliceData(mem)))))
	atomic.StoreUint64(t.word(index, entryLen), uint64(len(mem)))
	atomic.StoreUint64(t.word(index, entryRights), uint64(access)|descriptor<<descriptorShift|uint64(tag)<<32)
	atomic.StoreUint64(t.word(index, entryHandle), uint64(r.handle))
	return r.handle, nil
}

// find returns the registration that a handle names, or nil.
func (t *table) find(h nic.Handle) *registration {
	i := handleIndex(h)
	if i < 0 || i >= len(t.regs) || t.regs[i].handle != h {
		return nil
	}
	return &t.regs[i]
}

// invalidate prevents remote sides from beginning an access.
func (t *table) invalidate(h nic.Handle) {
	atomic.StoreUint64(t.word(handleIndex(h), entryHandle), 0)
}

func (t *table) invalidateAll() {
	for i := range t.regs {
		if t.regs[i].handle != 0 {
			t.invalidate(t.regs[i].handle)
		}
	}
}

func (t *table) remove(h nic.Handle) {
	i := handleIndex(h)
	r := &t.regs[i]
	r.mem, r.handle, r.closing = nil, 0, false
	t.free = append(t.free, int32(i))
}

// covers reports whether data is in the memory of h and tag may use it.
func (t *table) covers(h nic.Handle, data []byte, tag nic.ProtectionTag) bool {
	r := t.find(h)
	if r == nil || r.closing || r.tag != tag {
		return false
	}
	if len(data) == 0 {
		return true
	}
	start := uintptr(unsafe.Pointer(unsafe.SliceData(r.mem)))
	at := uintptr(unsafe.Pointer(unsafe.SliceData(data)))
	return at >= start && at-start <= uintptr(len(r.mem)) && uintptr(len(data)) <= uintptr(len(r.mem))-(at-start)
}

// Register implements nic.Device.
func (d *Device) Register(mem []byte, access nic.Access, tag nic.ProtectionTag) (nic.Handle, error) {
	switch {
	case d.closed:
		return 0, nic.ErrClosed
	case len(mem) == 0:
		return 0, fmt.Errorf("shm: no memory to register")
	case !validAccess(access):
		return 0, fmt.Errorf("shm: unknown access bits %#x", access)
	}
	return d.table.add(mem, access, tag, d.memory.shared.descriptor(mem))
}

// Deregister implements nic.Device. While a peer is stopped in the middle of an
// access, it returns ErrBusy, until the peer continues or dies.
func (d *Device) Deregister(h nic.Handle) error {
	if d.closed {
		return nic.ErrClosed
	}
	r := d.table.find(h)
	if r == nil {
		return fmt.Errorf("shm: handle %#x: %w", uint64(h), nic.ErrUnknownHandle)
	}
	d.table.invalidate(h)
	r.closing = true
	for i := range d.conns {
		if c := d.conns[i].conn; c != nil && c.hazard() == h && !c.peerGone() {
			d.stats.DeregisterBusy++
			return nic.ErrBusy
		}
	}
	d.table.remove(h)
	return nil
}
