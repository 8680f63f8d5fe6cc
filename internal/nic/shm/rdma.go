package shm

import (
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// remoteIovec is struct iovec with an address that is not ours.
type remoteIovec struct{ base, length uintptr }

// tryProbe reads the word that the other side named and compares it. RDMA works only if the
// kernel allows it, and if the pid is that of the process at the other end.
func (c *conn) tryProbe(pr probe) bool {
	if c.dev.noCMA || c.peer.pid <= 0 || pr.addr == 0 {
		return false
	}
	var word uint64
	local := unix.Iovec{Base: (*byte)(unsafe.Pointer(&word))}
	local.SetLen(8)
	remote := remoteIovec{base: uintptr(pr.addr), length: 8}
	n, _, errno := unix.RawSyscall6(unix.SYS_PROCESS_VM_READV, uintptr(c.peer.pid),
		uintptr(unsafe.Pointer(&local)), 1, uintptr(unsafe.Pointer(&remote)), 1, 0)
	return errno == 0 && n == 8 && word == pr.value
}

// rdma moves up to budget bytes of a descriptor. d.Length counts the bytes moved so far. If the
// descriptor is a send, it is sent. StatusPending means that the descriptor is not finished.
func (c *conn) rdma(d *nic.Descriptor, budget int) nic.Status {
	if d.Op == nic.OpSend {
		return c.send(d)
	}
	if d.Length == 0 {
		if status := c.checkRDMA(d); status != nic.StatusPending {
			return status
		}
	}
	total := d.Size()
	for d.Length < total {
		if budget <= 0 {
			return nic.StatusPending
		}
		n, status := c.call(d, min(rdmaCallBytes, total-d.Length))
		if status != nic.StatusPending {
			d.Length = 0
			return status
		}
		d.Length += n
		budget -= n
	}
	if d.Op == nic.OpRDMAWrite && d.Flags&nic.FlagImmediate != 0 {
		return c.announce(d)
	}
	return nic.StatusSuccess
}

// announce sends the immediate data of an RDMA write: it arrives as a message of length 0 (VI
// Architecture 1.0, section 2.2.2).
func (c *conn) announce(d *nic.Descriptor) nic.Status {
	moved, segments := d.Length, d.Segments
	d.Segments = nil
	status := c.send(d)
	d.Segments, d.Length = segments, moved
	return status
}

// checkRDMA checks everything that does not change during the transfer of a descriptor.
func (c *conn) checkRDMA(d *nic.Descriptor) nic.Status {
	total := d.File.Len
	for i := range d.Segments {
		s := &d.Segments[i]
		if s.Handle != 0 && !c.dev.table.covers(s.Handle, s.Data, c.port.attrs.Tag) {
			return nic.StatusProtectionError
		}
		total += len(s.Data)
	}
	if total > RDMABytesMax {
		return nic.StatusLengthError
	}
	need := nic.AccessRemoteWrite
	if d.Op == nic.OpRDMARead {
		need = nic.AccessRemoteRead
	}
	if !c.reach || c.theirRights.access&need == 0 {
		return nic.StatusRDMAError
	}
	// A process id is valid only while its process lives: afterwards another process may get
	// it.
	if now := c.dev.clock(); now-c.provenAt > peerFresh {
		if c.peerGone() {
			return nic.StatusTransportError
		}
		c.provenAt = now
	}
	return nic.StatusPending
}

// call moves the next n bytes of a descriptor in one system call. It returns StatusPending if
// that worked.
func (c *conn) call(d *nic.Descriptor, n int) (int, nic.Status) {
	// The other side either sees the hazard word before it frees its memory, or has
	// invalidated the entry before the check below.
	atomic.StoreUint64(c.ourHazard, uint64(d.Remote.Handle))
	moved := 0
	rights, status := c.allowed(d, n)
	switch {
	case status != nic.StatusPending:
	case d.File.File != nil:
		moved, status = c.moveFile(d, n, rights)
	case d.Op == nic.OpRDMARead:
		moved, status = c.cross(unix.SYS_PROCESS_VM_READV, d, n, c.dev.gather(d, n))
	default:
		moved, status = c.cross(unix.SYS_PROCESS_VM_WRITEV, d, n, c.dev.gather(d, n))
	}
	atomic.StoreUint64(c.ourHazard, 0)
	return moved, status
}

// cross is the system call that copies n bytes between the first count pieces of local memory
// in iov and the other side's memory, starting where the descriptor's progress ended.
func (c *conn) cross(trap uintptr, d *nic.Descriptor, n, count int) (int, nic.Status) {
	remote := remoteIovec{base: uintptr(d.Remote.Addr) + uintptr(d.Length), length: uintptr(n)}
	moved, _, errno := unix.RawSyscall6(trap, uintptr(c.peer.pid),
		uintptr(unsafe.Pointer(&c.dev.iov[0])), uintptr(count), uintptr(unsafe.Pointer(&remote)), 1, 0)
	clear(c.dev.iov[:count])
	c.dev.stats.RDMACalls++
	switch {
	case errno == unix.ESRCH:
		return 0, nic.StatusTransportError
	case errno != 0 || moved == 0:
		return 0, nic.StatusRDMAError
	}
	c.dev.stats.RDMABytes += uint64(moved)
	return int(moved), nic.StatusPending
}

// allowed reads the other side's table entry, which cannot change while our hazard word names
// it and the entry is valid. rights is the entry's last word.
func (c *conn) allowed(d *nic.Descriptor, n int) (rights uint64, status nic.Status) {
	i := handleIndex(d.Remote.Handle)
	if i < 0 || atomic.LoadUint64(c.entry(i, entryHandle)) != uint64(d.Remote.Handle) {
		return 0, nic.StatusRDMAError
	}
	start := atomic.LoadUint64(c.entry(i, entryAddr))
	length := atomic.LoadUint64(c.entry(i, entryLen))
	rights = atomic.LoadUint64(c.entry(i, entryRights))
	need := nic.AccessRemoteWrite
	if d.Op == nic.OpRDMARead {
		need = nic.AccessRemoteRead
	}
	at := d.Remote.Addr + uint64(d.Length)
	switch {
	case nic.Access(rights)&need == 0, nic.ProtectionTag(rights>>32) != c.theirRights.tag:
		return 0, nic.StatusRDMAError
	case at < start, at-start > length, uint64(n) > length-(at-start):
		return 0, nic.StatusRDMAError
	}
	return rights, nic.StatusPending
}

func (c *conn) entry(index int, off uintptr) *uint64 {
	return wordAt(c.theirTable, uintptr(index)*entryBytes+off)
}

// gather lists the next n bytes of a descriptor's local memory.
func (d *Device) gather(desc *nic.Descriptor, n int) (count int) {
	skip := desc.Length
	for i := range desc.Segments {
		data := desc.Segments[i].Data
		if skip >= len(data) {
			skip -= len(data)
			continue
		}
		data = data[skip:]
		skip = 0
		if len(data) > n {
			data = data[:n]
		}
		d.iov[count].Base = unsafe.SliceData(data)
		d.iov[count].SetLen(len(data))
		count++
		if n -= len(data); n == 0 {
			break
		}
	}
	return count
}

// work continues the descriptors behind which others wait, a bounded amount per port.
func (d *Device) work() {
	ports := d.busy
	d.busy = d.busy[:0]
	kept := 0
	for _, p := range ports {
		p.workOn()
		if p.sends.Head() != nil {
			ports[kept] = p
			kept++
		}
	}
	clear(ports[kept:])
	d.busy = ports[:kept]
}

func (p *Port) workOn() {
	for budget := rdmaPollBytes; budget > 0 && p.sends.Head() != nil; {
		c, d := p.conn, p.sends.Head()
		before := d.Length
		status := c.rdma(d, budget)
		budget -= d.Length - before
		if status == nic.StatusPending {
			return
		}
		if p.conn != c {
			return // the other side broke the rules; the descriptor came back with the rest
		}
		p.giveBack(nic.EventSend, p.sends.Pop(), status)
		if status == nic.StatusNoDescriptor {
			c.outrun()
		}
	}
}
