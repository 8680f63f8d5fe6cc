package via_test

import (
	"context"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/race"
)

// pingPair is two connected endpoints of this process, driven by one goroutine.
type pingPair struct {
	t          testing.TB
	ca, cb     *bmi.Context
	toB, toA   bmi.Addr
	in, out    []byte
	completion [4]bmi.Completion
	posts      [16]bmi.Post
	completed  [16]bmi.Completion
}

// way is what a pair is connected by: a variable of the environment, and an
// address to listen at.
type way struct {
	key, value string
	listen     [2]string
}

func ways(t testing.TB) map[string]way {
	udp := [2]string{"via+udp://127.0.0.1:0", "via+udp://127.0.0.1:0"}
	return map[string]way{
		"shm":          {"VIADUCT_SHM_DIR", t.TempDir(), [2]string{"via+shm://a", "via+shm://b"}},
		"udp insecure": {"VIADUCT_UDP_INSECURE", "1", udp},
		"udp secure":   {"VIADUCT_UDP_KEY", "correct horse battery staple", udp},
	}
}

func newPingPair(t testing.TB, size int, how way) *pingPair {
	t.Setenv(how.key, how.value)
	p := &pingPair{t: t, in: make([]byte, size), out: make([]byte, size)}
	var ends [2]*bmi.Endpoint
	for i := range ends {
		var err error
		ends[i], err = bmi.Open(context.Background(), bmi.Config{Listen: how.listen[i : i+1]})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, ends[i].Close()) })
	}
	for i, c := range []**bmi.Context{&p.ca, &p.cb} {
		var err error
		*c, err = ends[i].OpenContext()
		require.NoError(t, err)
	}
	for i, to := range []*bmi.Addr{&p.toA, &p.toB} {
		var err error
		*to, err = ends[1-i].Lookup(ends[i].Addresses()[0])
		require.NoError(t, err)
	}
	for range 200 { // connect, fill the pools
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
		// The send of a message that waited, and credits, are a's to see to.
		if _, err := p.ca.TestContext(p.completion[1:], 0); err != nil {
			p.t.Fatal("send", err)
		}
		if n > 0 {
			return
		}
	}
}

// burst moves several messages at once.
func (p *pingPair) burst() {
	window := func(buf []byte) []bmi.Post {
		for i := range p.posts {
			p.posts[i] = bmi.Post{Tag: 1, Buf: buf}
		}
		return p.posts[:]
	}
	if _, err := p.cb.PostRecvs(p.toA, window(p.in)); err != nil {
		p.t.Fatal("receives", err)
	}
	if _, err := p.ca.PostSends(p.toB, window(p.out)); err != nil {
		p.t.Fatal("sends", err)
	}
	for got := 0; got < len(p.posts); {
		n, err := p.cb.TestContext(p.completed[:], 0)
		if err != nil {
			p.t.Fatal("receives", err)
		}
		for _, c := range p.completed[:n] {
			if c.Err != nil {
				p.t.Fatal("receives", c.Err)
			}
		}
		if _, err := p.ca.TestContext(p.completed[:], 0); err != nil {
			p.t.Fatal("sends", err)
		}
		got += n
	}
}

// TestNoAllocations: a small message allocates nothing between its post and its
// completion, on either side.
func TestNoAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	for name, how := range ways(t) {
		t.Run(name, func(t *testing.T) {
			for _, size := range []int{0, 8, 40, 960, 980, 1000, 8176, 16384} {
				t.Run(strconv.Itoa(size), func(t *testing.T) {
					p := newPingPair(t, size, how)
					require.Zero(t, testing.AllocsPerRun(2000, p.message))
					require.Zero(t, testing.AllocsPerRun(200, p.burst), "bursts")
				})
			}
		})
	}
}

// BenchmarkMessage is what a small message costs both sides together, without
// the way between two cores.
func BenchmarkMessage(b *testing.B) {
	all := ways(b)
	for _, name := range []string{"shm", "udp insecure"} {
		b.Run(name, func(b *testing.B) {
			p := newPingPair(b, 8, all[name])
			b.ReportAllocs()
			for b.Loop() {
				p.message()
			}
		})
	}
}

// BenchmarkBurst is what a window of small messages costs.
func BenchmarkBurst(b *testing.B) {
	p := newPingPair(b, 8, ways(b)["shm"])
	b.ReportAllocs()
	for b.Loop() {
		p.burst()
	}
}
