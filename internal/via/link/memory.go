package link

import (
	"github.com/viaduct-hpc/viaduct/internal/via/wire"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
	"github.com/viaduct-hpc/viaduct/methods/via/vipl"
)

// Access says what a peer may do with memory.
type Access uint8

const (
	// Local: nothing. A NIC that moves only registered memory needs it.
	Local Access = iota
	// Readable: read it.
	Readable
	// Writable: write it.
	Writable
	// Both: read and write it.
	Both
)

// Memory is the memory of an operation as far as the NIC knows it: one region for each
// piece that is not empty, in order. The zero value is none.
type Memory struct{ regions []*vipl.Memory }

// Regions is how many regions there are.
func (m *Memory) Regions() int { return len(m.regions) }

// Register makes memory known to the NIC under the protection tag of a link, if it has
// no more than limit pieces that are not empty. It reports false if that cannot be
// done; nothing is registered then.
func (l *Link) Register(m *Memory, bufs [][]byte, access Access, limit int) bool {
	for _, b := range bufs {
		if len(b) == 0 {
			continue
		}
		if len(m.regions) == limit {
			m.Withdraw()
			return false
		}
		mem, err := l.channel.links.RegisterMem(b, vipl.MemAttributes{
			Tag: l.channel.tag, RemoteRead: access == Readable || access == Both, RemoteWrite: access == Writable || access == Both,
		})
		if err != nil {
			m.Withdraw()
			return false
		}
		m.regions = append(m.regions, mem)
	}
	return true
}

// Withdraw closes the memory to the peer. It reports false while an access of the peer
// is under way.
func (m *Memory) Withdraw() bool {
	for n := len(m.regions); n > 0; n = len(m.regions) {
		if err := m.regions[n-1].Deregister(); err != nil {
			return false
		}
		m.regions[n-1] = nil
		m.regions = m.regions[:n-1]
	}
	return true
}

// Pieces appends the list that the peer needs to access the bytes from off on.
func (m *Memory) Pieces(to []wire.Piece, off int) []wire.Piece {
	for _, mem := range m.regions {
		if off >= len(mem.Data) {
			off -= len(mem.Data)
			continue
		}
		r := mem.Remote(off)
		to = append(to, wire.Piece{Addr: r.Addr, Handle: uint64(r.Handle), Len: uint64(len(mem.Data) - off)})
		off = 0
	}
	return to
}

// segments appends segments for the bytes [off, off+n). It reports false if that takes
// more than limit; segs is full then.
func (m *Memory) segments(segs []nic.Segment, off, n, limit int) ([]nic.Segment, bool) {
	for _, mem := range m.regions {
		if off >= len(mem.Data) {
			off -= len(mem.Data)
			continue
		}
		if len(segs) == limit {
			return segs, false
		}
		k := min(n, len(mem.Data)-off)
		segs = append(segs, mem.Segment(off, k))
		off = 0
		if n -= k; n == 0 {
			break
		}
	}
	return segs, true
}
