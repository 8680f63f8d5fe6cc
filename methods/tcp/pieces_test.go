package tcp_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
	"github.com/viaduct-hpc/viaduct/internal/tcp/wire"
	"github.com/viaduct-hpc/viaduct/methods/tcp"
)

// cut makes pieces of b, of random lengths and many of them empty.
func cut(rng *rand.Rand, b []byte, most int) [][]byte {
	var pieces [][]byte
	for len(pieces) < most-1 && (len(b) > 0 || rng.IntN(4) > 0) {
		n := 0
		if len(b) > 0 && rng.IntN(3) > 0 {
			n = 1 + rng.IntN(min(len(b), 400))
		}
		pieces = append(pieces, b[:n])
		b = b[n:]
	}
	return append(pieces, b)
}

// pieces are the messages of one step of TestPiecesAtEverySplit, with tags from 0
// on: their bytes on the wire, and the memory in which they must arrive.
type pieces struct {
	rng    *rand.Rand
	n      *fakeNode
	f      *fakeStream
	peer   bmi.Addr
	files  [6]*os.File
	step   int // bytes that move at once
	most   int // bytes of a message
	data   [6][]byte
	mem    [6][]byte
	stream []byte
}

// finished takes all completions.
func (p *pieces) finished() (k int) {
	for c, ok := p.n.completion(); ok; c, ok = p.n.completion() {
		require.NoError(p.n.t, c.Err)
		k++
	}
	return k
}

// send posts the messages and flushes them.
func (p *pieces) send() {
	t := p.n.t
	p.f.out, p.f.room = nil, 0
	for tag := range p.data {
		data := make([]byte, p.rng.IntN(3)*p.rng.IntN(p.most))
		for i := range data {
			data[i] = byte(p.rng.Uint32())
		}
		if len(data) > 0 && p.rng.IntN(2) == 0 {
			clear(data[p.rng.IntN(len(data)):])
		}
		p.data[tag], p.mem[tag] = data, make([]byte, len(data))
		p.stream = append(wire.Expected(uint32(tag), len(data)).Append(p.stream), data...)
		var err error
		if tag%2 == 0 {
			_, err = p.n.ctx.PostSendList(p.peer, bmi.Tag(tag), cut(p.rng, data, 200), nil)
		} else {
			_, err = p.n.ctx.PostSendFile(p.peer, bmi.Tag(tag), p.inFile(p.files[tag], data), nil)
		}
		require.NoError(t, err)
	}
	for range len(p.stream)/p.step + 2 {
		p.f.room = p.step
		p.f.tell(stack.Writable)
		for i := 0; i < settlePolls && p.f.room > 0; i++ {
			p.n.poll()
		}
	}
	require.True(t, bytes.Equal(p.stream, p.f.out), "steps of %d: %d of %d bytes", p.step, len(p.f.out), len(p.stream))
	require.Equal(t, len(p.data), p.finished())
}

// inFile puts data at the end of a file, without the zeros that it ends with.
func (p *pieces) inFile(file *os.File, data []byte) bmi.FileRange {
	t := p.n.t
	off := int64(p.rng.IntN(10_000))
	require.NoError(t, file.Truncate(0))
	_, err := file.WriteAt(bytes.TrimRight(data, "\x00"), off)
	require.NoError(t, err)
	return bmi.FileRange{File: file, Off: off, Len: len(data)}
}

// recv posts the receive of a message.
func (p *pieces) recv(tag int) {
	_, err := p.n.ctx.PostRecvList(p.peer, bmi.Tag(tag), cut(p.rng, p.mem[tag], 200), nil)
	require.NoError(p.n.t, err)
}

// echo makes the same bytes come back, some before their receives.
func (p *pieces) echo() {
	posted := 0
	for ; posted < len(p.data)/2; posted++ {
		p.recv(posted)
	}
	for b := p.stream; len(b) > 0; b = b[min(p.step, len(b)):] {
		p.f.arrive(b[:min(p.step, len(b))]...)
		p.n.poll()
		if posted < len(p.data) && p.rng.IntN(len(p.stream)/p.step+1) == 0 {
			p.recv(posted)
			posted++
		}
	}
	p.n.settle()
	for ; posted < len(p.data); posted++ {
		p.recv(posted)
	}
	p.n.settle()
	p.finished()
	for tag := range p.data {
		require.True(p.n.t, bytes.Equal(p.data[tag], p.mem[tag]), "steps of %d: message %d", p.step, tag)
	}
}

// TestPiecesAtEverySplit: lists of more pieces than one system call takes, some of
// them empty, arrive whole wherever the stream is split.
func TestPiecesAtEverySplit(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	n := newFakeNode(t, tcp.Options{}, bmi.Limits{})
	f, peer := n.connected()
	var files [6]*os.File
	for i := range files {
		file, err := os.Create(filepath.Join(t.TempDir(), "file"))
		require.NoError(t, err)
		defer file.Close()
		files[i] = file
	}
	sparse := 40
	if testing.Short() {
		sparse = 10
	}
	for step := 1; step < 1200; step += 1 + step/sparse {
		p := &pieces{rng: rng, n: n, f: f, peer: peer, files: files, step: step, most: 6000}
		if testing.Short() {
			p.most = min(p.most, 100*step)
		}
		p.send()
		p.echo()
		s := n.Stats().Methods[0]
		require.Zero(t, s.PostedRecvs+s.EarlyMessages)
	}
}

// TestEmptyMessagesBeyondTheLimit: they count only towards the number of messages.
func TestEmptyMessagesBeyondTheLimit(t *testing.T) {
	n := newFakeNode(t, tcp.Options{}, bmi.Limits{})
	f, peer := n.connected()
	const many = tcp.EarlyMessagesPerPeer + 100
	for tag := range uint32(many) {
		f.arrive(wire.Expected(tag, 0).Append(nil)...)
	}
	n.settle()
	require.LessOrEqual(t, n.Stats().Methods[0].EarlyMessages, tcp.EarlyMessagesPerPeer+1)
	for tag := range many {
		if !n.recv(peer, bmi.Tag(tag), 0).Done {
			n.settle()
			c, ok := n.completion()
			require.True(t, ok)
			require.NoError(t, c.Err)
		}
	}
	require.Zero(t, n.Stats().Methods[0].EarlyMessages)
}
