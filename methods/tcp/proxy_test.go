package tcp_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/race"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/methods/tcp"
)

// A proxy forwards connections to an endpoint. It splits the bytes at random,
// delays them, and now and then resets a connection.
type proxy struct {
	seed     uint64
	resets   bool
	target   string
	listener net.Listener
	wg       sync.WaitGroup

	mu    sync.Mutex // guards what follows
	open  map[*passage]bool
	ended bool
	// Counters.
	connections, cut int
	pieces           int64
}

// A passage is one connection through the proxy.
type passage struct {
	p        *proxy
	in, out  net.Conn
	once     sync.Once
	resetAt  int // after so many bytes in both directions; < 0: never
	mu       sync.Mutex
	passedBy int
}

func newProxy(t testing.TB, seed uint64, resets bool, target string) (p *proxy, address string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p = &proxy{seed: seed, resets: resets, target: hostPort(target), listener: l, open: make(map[*passage]bool)}
	p.wg.Go(p.accept)
	t.Cleanup(p.close)
	return p, "tcp://" + l.Addr().String()
}

// close ends all connections that are left. It may be called twice.
func (p *proxy) close() {
	_ = p.listener.Close()
	p.mu.Lock()
	p.ended = true
	var open []*passage
	for c := range p.open {
		open = append(open, c)
	}
	p.mu.Unlock()
	for _, c := range open {
		c.end(true)
	}
	p.wg.Wait()
}

func (p *proxy) accept() {
	for n := uint64(0); ; n++ {
		in, err := p.listener.Accept()
		if err != nil {
			return
		}
		rng := rand.New(rand.NewPCG(p.seed, n))
		out, err := net.Dial("tcp", p.target)
		if err != nil {
			_ = in.Close()
			continue
		}
		c := &passage{p: p, in: in, out: out, resetAt: -1}
		if p.resets && rng.IntN(4) != 0 {
			c.resetAt = rng.IntN(1 << rng.IntN(23))
		}
		p.mu.Lock()
		p.connections++
		p.open[c] = true
		ended := p.ended
		p.mu.Unlock()
		if ended {
			c.end(true)
		}
		there, back := rng.Uint64(), rng.Uint64()
		p.wg.Go(func() { c.pass(in, out, rand.New(rand.NewPCG(there, 0))) })
		p.wg.Go(func() { c.pass(out, in, rand.New(rand.NewPCG(back, 0))) })
	}
}

// end ends both connections, by a reset or in good order.
func (c *passage) end(reset bool) {
	c.once.Do(func() {
		for _, s := range []net.Conn{c.in, c.out} {
			if reset {
				_ = s.(*net.TCPConn).SetLinger(0)
			}
			_ = s.Close()
		}
		c.p.mu.Lock()
		defer c.p.mu.Unlock()
		delete(c.p.open, c)
		if reset {
			c.p.cut++
		}
	})
}

// passed counts n bytes and returns how many of them may still pass.
func (c *passage) passed(n int) (allowed int, cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.resetAt >= 0 && c.passedBy+n >= c.resetAt {
		return c.resetAt - c.passedBy, true
	}
	c.passedBy += n
	return n, false
}

// pass moves bytes one way until one side ends.
func (c *passage) pass(from, to net.Conn, rng *rand.Rand) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf[:1+rng.IntN(1<<rng.IntN(17))])
		if err != nil {
			// The end of one side is forwarded; the other side may continue.
			if _, is := err.(net.Error); is || to.(*net.TCPConn).CloseWrite() != nil {
				c.end(true)
			}
			return
		}
		n, cut := c.passed(n)
		for rest := buf[:max(n, 0)]; len(rest) > 0; {
			k := 1 + rng.IntN(len(rest))
			if rng.IntN(4) == 0 {
				k = min(k, 1+rng.IntN(30))
			}
			if rng.IntN(32) == 0 {
				time.Sleep(time.Duration(rng.IntN(2000)) * time.Microsecond) // the proxy must delay
			}
			if _, err := to.Write(rest[:k]); err != nil {
				c.end(true)
				return
			}
			rest = rest[k:]
			c.p.mu.Lock()
			c.p.pieces++
			c.p.mu.Unlock()
		}
		if cut {
			c.end(true)
			return
		}
	}
}

// proxySizes are the messages of one conversation through the proxy, in the order
// in which each side sends them, by tag.
func proxySizes() []int {
	large := 700_000
	if testing.Short() {
		large = 150_000
	}
	return []int{0, 8, 300, 16 << 10, 16<<10 + 1, 100_000, large}
}

// proxyDepth is how many messages of each tag each side sends.
const proxyDepth = 3

// A talk is one side of a conversation: its operations, by the messages that they
// carry.
type talk struct {
	n     *node
	side  uint64 // 0: the client's, 1: the server's
	round uint64
	sends []int
	recvs []int
	bufs  [][]byte
}

func (t *talk) tag(i int) bmi.Tag { return bmi.Tag(t.round)<<8 | bmi.Tag(i) }

// message is what a side sends as number k with tag i.
func (t *talk) message(side uint64, i, k int) []byte {
	return pattern(t.round<<16|side<<15|uint64(i)<<8|uint64(k), proxySizes()[i])
}

// begin posts everything that one side receives and sends, receives first.
func begin(n *node, side, round uint64, peer bmi.Addr) *talk {
	t := &talk{n: n, side: side, round: round}
	for range proxyDepth {
		for i, size := range proxySizes() {
			t.bufs = append(t.bufs, make([]byte, size))
			t.recvs = append(t.recvs, n.recv(peer, t.tag(i), t.bufs[len(t.bufs)-1]))
		}
	}
	for k := range proxyDepth {
		for i := range proxySizes() {
			t.sends = append(t.sends, n.send(peer, t.tag(i), t.message(side, i, k)))
		}
	}
	return t
}

// state tells how many operations have ended, and whether one has failed.
func (t *talk) state() (ended int, failed error) {
	for _, id := range append(append([]int(nil), t.sends...), t.recvs...) {
		if c, ok := t.n.ended[id]; ok {
			ended++
			if failed == nil {
				failed = c.Err
			}
		}
	}
	return ended, failed
}

func (t *talk) operations() int { return len(t.sends) + len(t.recvs) }

// check requires that the received messages are those that the other side sent, in
// order: once a receive of a tag has failed, no later one has a message.
func (t *talk) check() (arrived int) {
	t.n.t.Helper()
	lost := make([]bool, len(proxySizes()))
	for x, id := range t.recvs {
		k, i := x/len(proxySizes()), x%len(proxySizes())
		c := t.n.ended[id]
		if c.Err != nil {
			lost[i] = true
			continue
		}
		what := fmt.Sprintf("round %d, side %d, message %d with tag %d", t.round, t.side, k, i)
		require.False(t.n.t, lost[i], "%s arrived, and one before it did not", what)
		require.Equal(t.n.t, proxySizes()[i], c.Size, what)
		// Not require.Equal, which would print the messages.
		require.True(t.n.t, string(t.message(1-t.side, i, k)) == string(t.bufs[x]), "%s is damaged", what)
		arrived++
	}
	return arrived
}

// TestProxy lets clients talk to a server through a proxy that delays and splits,
// and, in every second run, resets. Every operation ends once and in bounded
// time; what arrives is whole and in order; without resets, everything arrives.
func TestProxy(t *testing.T) {
	for _, resets := range []bool{false, true} {
		t.Run(fmt.Sprintf("resets=%v", resets), func(t *testing.T) {
			sim.RunAtMost(t, 16, func(t *testing.T, seed uint64) { proxyRun(t, seed, resets) })
		})
	}
}

// greetingLost is how long to wait for an answer before checking whether the
// connection of the greeting is gone.
const greetingLost = 2 * time.Second

// reconnected reports whether the connection to a peer is not the first.
func reconnected(n *node, a bmi.Addr) bool {
	for _, p := range n.ep.Stats().Peers {
		if p.Addr == a.String() {
			return p.Connects > 1
		}
	}
	return false
}

func proxyRun(t *testing.T, seed uint64, resets bool) {
	const clients = 3
	rounds := 4
	if testing.Short() || race.Enabled {
		rounds = 2
	}
	address := freshAddress()
	server := openNode(t, tcp.Options{HangupTimeout: 100 * time.Millisecond}, address)
	p, through := newProxy(t, seed, resets, address)
	began := make(map[uint64]*talk) // the server's sides, by round
	server.taken = func(u *bmi.Unexpected) {
		require.Len(t, u.Data, 8)
		round := binary.LittleEndian.Uint64(u.Data)
		require.Nil(t, began[round], "two greetings of round %d", round)
		began[round] = begin(server, 1, round, u.From)
	}
	nodes := make([]*node, clients)
	for i := range nodes {
		nodes[i] = openNode(t, tcp.Options{})
	}
	var arrived, failed int
	var slowest time.Duration
	for round := range rounds {
		talks := make([]*talk, clients)
		addrs := make([]bmi.Addr, clients)
		start := time.Now()
		for i, n := range nodes {
			id := uint64(1 + round*clients + i)
			addrs[i] = n.lookup(through)
			n.sendUnexpected(addrs[i], 0, binary.LittleEndian.AppendUint64(nil, id))
			talks[i] = begin(n, 0, id, addrs[i])
		}
		for open := clients; open > 0; {
			if time.Now().After(start.Add(patience)) {
				require.Fail(t, "operations hang", "round %d: server %+v", round, server.ep.Stats())
			}
			server.turn(time.Millisecond)
			open = 0
			for i, n := range nodes {
				n.turn(0)
				ended, err := talks[i].state()
				other := began[talks[i].round]
				switch {
				case !addrs[i].IsZero() && (err != nil ||
					other == nil && time.Since(start) > greetingLost && reconnected(n, addrs[i])):
					// No more messages of this round go over another connection.
					// If the greeting was lost before anything else was posted,
					// nothing failed, and no answer comes.
					require.NoError(t, n.ep.DropAddr(addrs[i]))
					addrs[i] = bmi.Addr{}
					open++
				case ended < talks[i].operations():
					open++
				case other != nil:
					if ended, _ := other.state(); ended < other.operations() {
						open++
					}
				}
			}
		}
		slowest = max(slowest, time.Since(start))
		for i, n := range nodes {
			sides := []*talk{talks[i]}
			if other := began[talks[i].round]; other != nil {
				sides = append(sides, other)
			}
			for _, side := range sides {
				got := side.check()
				arrived += got
				failed += len(side.recvs) - got
			}
			if !addrs[i].IsZero() {
				require.NoError(t, n.ep.DropAddr(addrs[i]))
			}
			require.Zero(t, n.pending)
		}
	}
	p.mu.Lock()
	t.Logf("seed %d: %d connections, %d reset, %d pieces; %d messages arrived, %d did not; the slowest round took %v",
		seed, p.connections, p.cut, p.pieces, arrived, failed, slowest.Round(time.Millisecond))
	p.mu.Unlock()
	p.close() // a connection without a greeting may be held back for good
	server.until("all connections are gone", func() bool { return server.stats().Connected == 0 && server.pending == 0 }, nodes...)
	if !resets {
		require.Zero(t, failed)
		require.Equal(t, 2*rounds*clients*proxyDepth*len(proxySizes()), arrived)
	}
}
