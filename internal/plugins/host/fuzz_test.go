package host_test

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/plugins/ring"
	"github.com/viaduct-hpc/viaduct/internal/plugins/wire"
)

// FuzzHostilePlugin: a plugin may write anything to the ring and the other shared memory while the
// program posts, cancels, drops and closes. Each operation ends once, nothing is delivered after
// the plugin has broken the rules, and all memory is freed. The data is a list of commands for
// play.
func FuzzHostilePlugin(f *testing.F) {
	f.Add([]byte{0, 8, 1, 8, 2, 8, 10, 10, 11, 64, 0, 0, 0, 6, 6, 5, 7})
	f.Add([]byte{0, 200, 1, 200, 3, 200, 11, 64, 0, 0, 0, 6, 4, 0, 5, 0, 6, 12, 0, 7, 9, 6})
	f.Add([]byte{11, 66, 1, 0, 2, 6, 11, 65, 1, 0, 9, 6, 8, 11, 65, 1, 0, 9, 6, 8, 6, 6, 0, 8, 6})
	f.Add([]byte{0, 8, 13, 1, 2, 3, 6, 0, 8, 9, 0, 8, 6, 14, 3, 3, 6, 7})
	f.Add([]byte{1, 8, 11, 0xc0, 0, 0, 8, 6, 1, 8, 6, 7, 9, 15, 6})
	f.Fuzz(func(t *testing.T, data []byte) {
		p := &player{liar: newLiar(t), posted: make(map[*bmi.Op]int)}
		p.program.took = true
		p.play(data)
		p.finish()
	})
}

// player plays a program and its plugin.
type player struct {
	*liar
	posted map[*bmi.Op]int // how often each was completed
	list   []*bmi.Op
	memory [][]byte // from Alloc
	ids    []uint64 // known to the plugin
	closed bool
}

func (p *player) play(data []byte) {
	next := func() (v byte) {
		if len(data) > 0 {
			v, data = data[0], data[1:]
		}
		return v
	}
	for len(data) > 0 {
		switch c := next() % 16; c {
		case 0, 1, 2, 3:
			p.begin(bmi.Kind(c%3), next())
		case 4, 5: // cancel or drop
			p.end(c == 5, next())
		case 6:
			p.poll()
		case 7:
			p.hearAll()
		case 8: // the endpoint accepts messages, or stops to
			p.program.took = !p.program.took
		case 9: // the plugin died, and another one is attached
			p.method.Detach(errors.New("it died"))
			p.in, p.out = p.attachRaw()
			p.ids, p.broken = nil, nil
		case 10:
			p.alloc(next())
		case 11:
			p.record(next)
		case 12: // memory changes
			p.shared[int(next())<<8|int(next())] = next()
		case 13: // a word in the ring to the program
			at := ring.HeaderBytes + int(next())*ring.Line
			binary.LittleEndian.PutUint64(p.back[at:], uint64(next())|uint64(next())<<32)
		case 14: // the plugin's position, and that it sleeps
			p.there[next()%16] = next()
		case 15:
			if next()%4 == 0 && !p.closed {
				p.closed = true
				require.NoError(p.t, p.method.Close(p.t.Context()))
			}
		}
	}
}

// begin posts an operation of the kind, with any length and memory.
func (p *player) begin(kind bmi.Kind, size byte) {
	var op *bmi.Op
	op = bmi.NewHostOp(func(_ *bmi.Op, size int, err error) {
		p.posted[op]++
		require.Equal(p.t, 1, p.posted[op], "an operation ended twice")
		if err == nil {
			require.LessOrEqual(p.t, size, op.Size)
		}
	})
	n := int(size)
	if size >= 128 {
		n <<= 7 // staged
	}
	buf := make([]byte, n)
	if size&1 != 0 && len(p.memory) > 0 {
		buf = p.memory[int(size)%len(p.memory)]
	}
	op.Kind, op.Bufs, op.Size, op.Peer = kind, [][]byte{buf[:len(buf)/2], buf[len(buf)/2:]}, len(buf), bmi.HostPeer(p.to)
	p.posted[op] = 0
	p.list = append(p.list, op)
	p.post(op)
}

func (p *player) end(drop bool, which byte) {
	if drop {
		p.method.Drop(bmi.HostPeer(p.to))
		var err error
		p.to, err = p.method.Resolve("mirror://image")
		require.NoError(p.t, err)
	} else if len(p.list) > 0 {
		if op := p.list[int(which)%len(p.list)]; p.posted[op] == 0 {
			p.method.Cancel(op)
		}
	}
}

// poll polls. A plugin that broke the rules must have no effect.
func (p *player) poll() {
	was, ended, arrived := p.broken, p.ended(), p.program.arrived
	p.method.Poll()
	if was != nil && !p.closed {
		require.Equal(p.t, ended, p.ended(), "ended by a plugin that broke the rules")
	}
	if p.closed {
		require.Equal(p.t, arrived, p.program.arrived, "arrived at a method that is closed")
	}
}

func (p *player) ended() (n int) {
	for _, times := range p.posted {
		n += times
	}
	return n
}

// hearAll reads all records of the program.
func (p *player) hearAll() {
	for {
		record, ok, err := p.in.Next()
		if err != nil || !ok {
			return
		}
		var h wire.Head
		_, err = h.Parse(record)
		require.NoError(p.t, err, "the program says nothing wrong")
		if h.Kind == wire.KindSend || h.Kind == wire.KindSendUnexpected || h.Kind == wire.KindRecv {
			p.ids = append(p.ids, h.Op)
		}
	}
}

func (p *player) alloc(size byte) {
	if size&1 != 0 && len(p.memory) > 4 {
		return
	}
	mem, err := p.method.Alloc(int(size) << 5)
	require.NoError(p.t, err)
	if len(mem) > 0 {
		p.memory = append(p.memory, mem)
	}
}

// record writes a record of the plugin that is mostly valid.
func (p *player) record(next func() byte) {
	h := wire.Head{Kind: wire.Kind(next()&0xc3) | wire.KindDone, Peer: uint64(next())}
	shape, size := next(), next()
	if h.Kind >= 0x80 { // and an unknown kind
		h.Kind &^= 0x80
		h.Status, h.Flags = wire.Status(shape), wire.Flags(size)
	}
	h.Size = uint64(size)
	if len(p.ids) > 0 {
		h.Op = p.ids[int(shape)%len(p.ids)]
	}
	var rest []byte
	switch h.Kind {
	case wire.KindStranger:
		h.Peer |= stranger
		h.Flags, rest = wire.FlagText, []byte([]string{"mirror://image", "x://y", "x://z"}[shape%3])
	case wire.KindArrived:
		h.Peer |= uint64(shape&1) << 63
		h.Flags, rest = wire.FlagMessage, make([]byte, size)
	case wire.KindDone:
		if shape&0x20 != 0 {
			h.Flags, rest = wire.FlagMessage, make([]byte, size)
		}
		if shape&0x40 != 0 {
			h.Size <<= 7
		}
	}
	room, ok, err := p.out.Reserve(wire.HeadBytes + len(rest))
	if ok && err == nil {
		h.Put(room)
		copy(room[wire.HeadBytes:], rest)
		p.out.Commit()
	}
}

// finish ends the plugin and the method, and checks the result.
func (p *player) finish() {
	p.poll()
	p.method.Detach(errors.New("it was killed"))
	if !p.closed {
		require.NoError(p.t, p.method.Close(p.t.Context()))
	}
	for op, times := range p.posted {
		require.Equal(p.t, 1, times, "%d bytes", op.Size)
	}
	require.Zero(p.t, p.method.Pending())
	for _, mem := range p.memory {
		require.NoError(p.t, p.method.Free(mem))
	}
	require.Zero(p.t, p.arena.Used())
}
