package rma

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/rma/internal/wire"
)

// A victim is a window whose memory lies between other memory.
type victim struct {
	w   *Win
	all []byte
}

const (
	victimAt    = 64
	victimBytes = 256
)

func newVictim(dynamic bool) *victim {
	v := &victim{w: &Win{flavor: Created, peers: make([]peer, 2)}, all: bytes.Repeat([]byte{0xaa}, victimAt*2+victimBytes)}
	part := v.all[victimAt : victimAt+victimBytes : victimAt+victimBytes]
	v.w.server.w = v.w
	if dynamic {
		v.w.flavor = Dynamic
		v.w.server.attached = []attachment{{1000, part[:100]}, {1100, part[100:120]}, {math.MaxUint64 - 7, part[120:128]}}
	} else {
		v.w.mem = part
	}
	for rank := range v.w.peers {
		v.w.peers[rank].atom.w = v.w
	}
	return v
}

// serve serves a request, and checks that nothing outside the window was written, or read: all of
// that is 0xaa, which the window does not contain.
func (v *victim) serve(t *testing.T, body []byte) (wire.Result, error) {
	clear(v.all[victimAt:][:victimBytes])
	answer, kept, err := v.w.server.Serve(1, body, core.Reply{}, nil)
	outside := append(bytes.Clone(v.all[:victimAt]), v.all[victimAt+victimBytes:]...)
	require.Equal(t, bytes.Repeat([]byte{0xaa}, len(outside)), outside)
	if err != nil {
		return 0, err
	}
	require.False(t, kept)
	result, data, err := wire.ParseResult(answer)
	require.NoError(t, err)
	require.NotContains(t, data, byte(0xaa))
	return result, nil
}

// isLongMessage tells whether a request announces a long message. Receiving one needs an engine,
// which the victim does not have.
func isLongMessage(v *victim, body []byte) bool {
	q, err := wire.ParseRequest(body)
	return err == nil && (q.Kind == wire.PutLong || q.Kind == wire.GetLong) && v.w.flavor != Dynamic
}

// TestRanges: offsets and lengths at every limit, whose sum may overflow.
func TestRanges(t *testing.T) {
	for _, dynamic := range []bool{false, true} {
		v := newVictim(dynamic)
		for _, off := range []uint64{0, 1, 255, 256, 257, 999, 1000, 1099, 1100, 1119, 1120, 1 << 32, 1<<63 - 1, 1 << 63, math.MaxUint64 - 255, math.MaxUint64 - 7, math.MaxUint64} {
			for _, length := range []uint32{0, 1, 8, 100, 255, 256, 257, 1 << 14, 1<<14 + 1, 1 << 31, math.MaxUint32} {
				for _, kind := range []wire.Kind{wire.Get, wire.GetAccumulate} {
					var l wire.RunList
					if length == 0 { // no process sends it
						continue
					}
					l.Add(off, length)
					l.Add(off, length)
					result, err := v.serve(t, l.Append(nil, wire.Head{Kind: kind, Op: 13, Elem: 1}))
					if inside(off, uint64(length), dynamic) && length <= 1<<13 {
						require.NoError(t, err)
						require.Equal(t, wire.Done, result, "%d bytes at %d", length, off)
					} else {
						require.NotEqual(t, wire.Done, result, "%d bytes at %d", length, off)
					}
				}
			}
		}
	}
}

func inside(off, length uint64, dynamic bool) bool {
	in := func(from, n uint64) bool { return off >= from && off-from < n && length <= n-(off-from) }
	if dynamic {
		return in(1000, 100) || in(1100, 20) || in(math.MaxUint64-7, 8)
	}
	return off <= victimBytes && length <= victimBytes-off
}

// TestRandomRequests: bytes that look like requests.
func TestRandomRequests(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, dynamic := range []bool{false, true} {
		v := newVictim(dynamic)
		for range 20_000 {
			h := wire.Head{Kind: wire.Kind(rng.IntN(12)), Op: uint8(rng.IntN(16)), Elem: uint8(rng.IntN(27))}
			var l wire.RunList
			for range rng.IntN(4) {
				off := uint64(rng.IntN(300))
				if dynamic {
					off += 990
				}
				l.Add(off, 1+uint32(rng.IntN(20)*rng.IntN(4)))
			}
			body := append(l.Append(nil, h), make([]byte, rng.IntN(64))...)
			if !isLongMessage(v, body) {
				_, _ = v.serve(t, body)
			}
		}
	}
}

// FuzzServe: no request makes the server panic, or touch memory outside the window.
func FuzzServe(f *testing.F) {
	f.Add(true, wire.AppendRun(nil, wire.Head{Kind: wire.Get}, 1000, 8))
	f.Add(false, append(wire.AppendRun(nil, wire.Head{Kind: wire.Accumulate, Elem: 6}, 8, 8), make([]byte, 8)...))
	f.Fuzz(func(t *testing.T, dynamic bool, body []byte) {
		if v := newVictim(dynamic); !isLongMessage(v, body) {
			_, _ = v.serve(t, body)
		}
	})
}
