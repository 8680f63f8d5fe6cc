package vipl

import (
	"fmt"
	"unsafe"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// MemAttributes say how registered memory may be used.
type MemAttributes struct {
	// Tag must be that of the VIs that use the memory.
	Tag ProtectionTag
	// RemoteWrite, RemoteRead allow the remote side RDMA.
	RemoteWrite, RemoteRead bool
}

func (a MemAttributes) access() (access nic.Access) {
	if a.RemoteWrite {
		access |= nic.AccessRemoteWrite
	}
	if a.RemoteRead {
		access |= nic.AccessRemoteRead
	}
	return access
}

// Memory is a registered range.
type Memory struct {
	// Data is the range. It must stay reachable until Deregister has returned
	// nil; a reference to the Memory is enough.
	Data []byte
	// Handle names it on both sides.
	Handle Handle

	n     *NIC
	attrs MemAttributes
}

// RegisterMem makes memory known to the NIC. It fails with ErrInvalidParameter for
// an empty range, and with ErrInvalidPtag for a tag that does not exist.
func (n *NIC) RegisterMem(mem []byte, attrs MemAttributes) (*Memory, error) {
	if n.closed {
		return nil, errDestroyed
	}
	if len(mem) == 0 {
		return nil, fmt.Errorf("%w: an empty range cannot be registered", ErrInvalidParameter)
	}
	if err := n.useTag(attrs.Tag); err != nil {
		return nil, err
	}
	h, err := n.dev.Register(mem, attrs.access(), attrs.Tag)
	if err != nil {
		n.tags[attrs.Tag]--
		return nil, fmt.Errorf("vipl: register %d bytes: %w", len(mem), err)
	}
	m := &Memory{Data: mem, Handle: h, n: n, attrs: attrs}
	n.memory[h] = m
	return m, nil
}

// Deregister withdraws the memory. It returns nic.ErrBusy while a remote access is
// under way. The memory is then closed to new accesses, and the caller tries again
// after a Poll.
func (m *Memory) Deregister() error {
	if m.n.closed {
		return nil
	}
	if m.n.memory[m.Handle] != m {
		return fmt.Errorf("%w: memory is not registered", ErrInvalidParameter)
	}
	if err := m.n.dev.Deregister(m.Handle); err != nil {
		return err
	}
	delete(m.n.memory, m.Handle)
	m.n.tags[m.attrs.Tag]--
	return nil
}

// Query returns the attributes.
func (m *Memory) Query() MemAttributes { return m.attrs }

// SetAttributes registers the range again with other attributes. Unlike the guide's
// VipSetMemAttributes it changes the handle, so that a remote side that knows the old
// one loses access. After nic.ErrBusy only that access has ended; after any other
// error of the provider the memory is no longer registered.
func (m *Memory) SetAttributes(attrs MemAttributes) error {
	if _, ok := m.n.tags[attrs.Tag]; !ok {
		return fmt.Errorf("%w: %d", ErrInvalidPtag, attrs.Tag)
	}
	if err := m.Deregister(); err != nil {
		return err
	}
	again, err := m.n.RegisterMem(m.Data, attrs)
	if err != nil {
		return err
	}
	m.Handle, m.attrs = again.Handle, attrs
	m.n.memory[m.Handle] = m
	return nil
}

// Segment is the part [off, off+size) of the memory, for a descriptor.
func (m *Memory) Segment(off, size int) Segment {
	return Segment{Data: m.Data[off : off+size], Handle: m.Handle}
}

// Remote is the name of the memory from off on, for descriptors of the remote side.
func (m *Memory) Remote(off int) Remote {
	return Remote{Addr: AddrOf(m.Data) + uint64(off), Handle: m.Handle}
}

// AddrOf is the address of the first byte, for nic.Remote.Addr.
func AddrOf(mem []byte) uint64 {
	return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(mem))))
}
