package coretest

import (
	"encoding/binary"
	"fmt"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
)

// A Sent is a message that a rank sent.
type Sent struct {
	ID             int
	Src, Dst, Comm int
	Tag, Size      int
	// Cancelled is the result of a cancel, if there was one.
	Cancelled bool
}

func (m *Sent) String() string {
	return fmt.Sprintf("message #%d of %d bytes from %d to %d in %d, tag %d", m.ID, m.Size, m.Src, m.Dst, m.Comm, m.Tag)
}

// A Got is a receive or a probe, with its result. Times count the rank's steps: the message, if
// any, was matched after After and before Before.
type Got struct {
	ID                     int
	Rank, Comm             int
	Src, Tag               int // the pattern
	Room                   int
	Posted, After, Before  int
	Status                 core.Status
	Err                    error
	Data                   []byte // that arrived
	Probed                 *Got   // the earlier probe that left the message
	Taken, Cancelled, Done bool   // Taken: by a matched probe
}

func (g *Got) String() string {
	what := "receive"
	if g.Taken {
		what = "matched probe"
	}
	return fmt.Sprintf("%s #%d of rank %d in %d, from %s, tag %s", what, g.ID, g.Rank, g.Comm, wild(g.Src), wild(g.Tag))
}

// fits tells whether the receive matches such a message.
func (g *Got) fits(m *Sent) bool {
	return g.Rank == m.Dst && g.Comm == m.Comm && (g.Src == core.AnySource || g.Src == m.Src) && (g.Tag == core.AnyTag || g.Tag == m.Tag)
}

// A History is what one rank saw, in its own order.
type History struct {
	Sent []*Sent
	Got  []*Got
	// Restarted counts persistent requests that were started again.
	Restarted int

	now int
}

// tick returns the next moment.
func (h *History) tick() int {
	h.now++
	return h.now
}

// Fill writes the contents of a message. With at least eight bytes they differ from those of all
// other messages of the program.
func Fill(mem []byte, seed uint64, id int) {
	key := mix(seed ^ uint64(id)<<40)
	for i := 0; i < len(mem); i += 8 {
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], mix(key+uint64(i)))
		copy(mem[i:], word[:])
	}
}

// mix makes every bit of a number depend on every other (splitmix64).
func mix(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
