package tcp_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/race"
	"github.com/viaduct-hpc/viaduct/methods/tcp"
)

// pingPair is two connected endpoints of this process, driven by one goroutine.
type pingPair struct {
	t          testing.TB
	ca, cb     *bmi.Context
	toB, toA   bmi.Addr
	in, out    []byte
	completion [4]bmi.Completion
}

func newPingPair(t testing.TB, size int) *pingPair {
	b, cb := openTCP(t, "tcp://127.0.0.1:0", tcp.Options{})
	a, ca := openTCP(t, "", tcp.Options{})
	p := &pingPair{t: t, ca: ca, cb: cb, in: make([]byte, size), out: make([]byte, size)}
	p.toB, p.toA = introduce(t, a, ca, b)
	for range 200 { // fill the pools
		p.message()
	}
	return p
}

// message moves one message from a to b, its receive being posted.
func (p *pingPair) message() {
	r, err := p.cb.PostRecv(p.toA, 1, p.in, nil)
	if err != nil || r.Done {
		p.t.Fatal("receive", r, err)
	}
	if _, err = p.ca.PostSend(p.toB, 1, p.out, nil); err != nil {
		p.t.Fatal("send", err)
	}
	for {
		n, err := p.cb.TestContext(p.completion[:], 0)
		if err != nil || n > 0 && p.completion[0].Err != nil {
			p.t.Fatal("receive", err, p.completion[0].Err)
		}
		if _, err := p.ca.TestContext(p.completion[1:], 0); err != nil {
			p.t.Fatal("send", err)
		}
		if n > 0 {
			return
		}
	}
}

// TestNoAllocations: a small message allocates nothing between its post and its
// completion, on either side.
func TestNoAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	for _, size := range []int{0, 8, 1000, 4096, 4097, 16384} {
		p := newPingPair(t, size)
		require.Zero(t, testing.AllocsPerRun(2000, p.message), "%d bytes", size)
	}
}

// BenchmarkMessage is the cost of a small message for both sides together,
// without the transfer between two cores.
func BenchmarkMessage(b *testing.B) {
	p := newPingPair(b, 8)
	b.ReportAllocs()
	for b.Loop() {
		p.message()
	}
}
