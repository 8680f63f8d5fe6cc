package secure

import (
	"crypto/sha256"
	"hash"
	"net/netip"
	"time"
)

// A memory remembers the INITs that led to a Request, so that a repeated INIT
// gets the same answer and does not lead to another Request. It forgets each one
// InitLife after it came, when its cookie is no longer valid, and takes no new
// one while it is full.
type memory struct {
	max    int
	size   int // length of the list
	inits  map[digest]*asked
	oldest *asked // first of the list, which is sorted by expiry
	newest *asked
	hash   hash.Hash
	addr   [addrBytes]byte
	out    digest
}

// A digest identifies an INIT by all its bytes and its source.
type digest [sha256.Size]byte

// An asked is a remembered INIT.
type asked struct {
	name   digest
	end    time.Duration
	answer []byte // nil: not decided yet
	gone   bool   // it is no longer in the map
	next   *asked
}

func newMemory(most int) memory {
	return memory{max: most, inits: make(map[digest]*asked), hash: sha256.New()}
}

func (m *memory) digest(from netip.AddrPort, packet []byte) digest {
	putAddr(m.addr[:], from)
	m.hash.Reset()
	m.hash.Write(m.addr[:])
	m.hash.Write(packet)
	m.hash.Sum(m.out[:0])
	return m.out
}

// expire forgets old INITs.
func (m *memory) expire(now time.Duration) {
	for m.oldest != nil && now >= m.oldest.end {
		one := m.oldest
		m.forget(one)
		m.size--
		if m.oldest = one.next; m.oldest == nil {
			m.newest = nil
		}
		one.next = nil
	}
}

// full includes INITs that were forgotten early, because they are still in the
// list.
func (m *memory) full() bool { return m.size >= m.max }

func (m *memory) add(name digest, now time.Duration) *asked {
	one := &asked{name: name, end: now + InitLife}
	m.inits[name] = one
	m.size++
	if m.newest == nil {
		m.oldest = one
	} else {
		m.newest.next = one
	}
	m.newest = one
	return one
}

// forget makes the same INIT count as new; the list entry expires later.
func (m *memory) forget(one *asked) {
	if !one.gone {
		one.gone = true
		delete(m.inits, one.name)
	}
}
