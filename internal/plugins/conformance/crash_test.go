//go:build linux

package conformance

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
	_ "github.com/viaduct-hpc/viaduct/methods/tcp" // traffic that is not to notice
	"github.com/viaduct-hpc/viaduct/plugins"
)

// crashes is how many processes are killed.
func crashes() int {
	if testing.Short() {
		return 15
	}
	return 500
}

const (
	// hangMax is how long an operation may take that was in progress at a crash. Operations in the
	// plugin end at once. Others wait for the next process for less than this; the rest of the
	// second is for a busy machine to end them.
	hangMax = time.Second
	// underWay is how many sends and receives each side keeps posted.
	underWay = 8
)

// TestCrashes kills one of two plugins again and again, with traffic in both directions between
// them.
func TestCrashes(t *testing.T) {
	seed := sim.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 0))
	before := inventory(t)

	var loaded []*plugins.Plugin
	sides := make([]*side, 2)
	for i := range sides {
		scheme := fmt.Sprintf("crash%d+shm", i)
		p, err := plugins.Load(t.Context(), os.Getenv(binaryVariable), plugins.Options{
			Name: fmt.Sprintf("crash%d", i), Env: []string{"VIADUCT_SHM_DIR"},
			Names:   map[string]string{"via+shm": scheme, "via+udp": fmt.Sprintf("crash%d+udp", i)},
			Backoff: time.Millisecond, BackoffMax: time.Millisecond, RestartLimit: 10 * crashes(),
		})
		require.NoError(t, err)
		loaded = append(loaded, p)
		sides[i] = newSide(t, i, scheme)
	}
	quiet := startQuiet(t)
	for i, s := range sides {
		s.start(fmt.Sprintf("crash%d+shm://crash-%d", i, 1-i))
	}
	waitTraffic(t, sides)
	for n := range crashes() {
		time.Sleep(time.Duration(rng.IntN(5000)) * time.Microsecond) // a random moment
		victim := loaded[rng.IntN(2)]
		for _, s := range sides {
			s.crash()
		}
		require.NoError(t, syscall.Kill(victim.PID(), syscall.SIGKILL), "crash %d", n)
		waitTraffic(t, sides)
		if t.Failed() {
			t.Fatalf("at crash %d", n)
		}
	}
	for _, s := range sides {
		s.stop()
	}
	wallclock.Under(t, quiet(), hangMax, "a message of another method")
	for i, s := range sides {
		t.Logf("side %d: %d sent, %d received, %d failed, slowest end after a crash %v",
			i, s.sent.Load(), s.received.Load(), s.failed.Load(), s.slowest)
		wallclock.Under(t, s.slowest, hangMax, "an operation that a crash hit")
		assert.NotZero(t, s.failed.Load(), "no crash hit anything")
	}
	for _, p := range loaded {
		require.NoError(t, p.Unload(context.Background()))
	}
	assert.Eventually(t, func() bool { return inventory(t) == before }, wallclock.Patience, 10*time.Millisecond,
		"left: %+v, before: %+v", inventory(t), before)
	left, err := os.ReadDir(os.Getenv("VIADUCT_SHM_DIR"))
	require.NoError(t, err)
	for _, e := range left {
		assert.NotEqual(t, os.ModeSocket, e.Type(), "a name of via+shm is left: %s", e.Name())
	}
}

// held counts resources of a process. After all crashes there must not be more.
type held struct{ descriptors, mappings, children int }

func inventory(t *testing.T) (h held) {
	fds, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	h.descriptors = len(fds)
	maps, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	h.mappings = strings.Count(string(maps), "viaduct-plugin")
	lists, err := filepath.Glob("/proc/self/task/*/children")
	require.NoError(t, err)
	for _, list := range lists {
		children, _ := os.ReadFile(list) // the thread may have ended
		h.children += len(strings.Fields(string(children)))
	}
	return h
}

// waitTraffic waits until each side has received something that was sent after the call.
func waitTraffic(t *testing.T, sides []*side) {
	marks := make([]int64, len(sides))
	for i, s := range sides {
		marks[i] = s.received.Load()
	}
	for i, s := range sides {
		require.Eventually(t, func() bool { return s.received.Load() > marks[i]+2*underWay }, wallclock.Patience, time.Millisecond,
			"side %d receives no more", i)
	}
}

// A side is one endpoint: a goroutine that keeps messages of several sizes under way.
type side struct {
	t    *testing.T
	id   int
	ep   *bmi.Endpoint
	c    *bmi.Context
	peer bmi.Addr

	sent, received, failed atomic.Int64
	crashed                atomic.Int64 // time of the latest crash; 0: none yet
	began                  time.Time
	slowest                time.Duration // of the goroutine, until stop

	next  uint64 // number of the next message
	seen  map[uint64]bool
	posts map[bmi.OpID]*posted
	quit  chan struct{}
	done  sync.WaitGroup
}

// posted is an operation in progress.
type posted struct {
	buf  []byte
	recv bool
	at   time.Duration
}

func newSide(t *testing.T, id int, scheme string) *side {
	s := &side{
		t: t, id: id, began: time.Now(), seen: make(map[uint64]bool), posts: make(map[bmi.OpID]*posted), quit: make(chan struct{}),
	}
	var err error
	s.ep, err = bmi.Open(t.Context(), bmi.Config{Listen: []string{fmt.Sprintf("%s://crash-%d", scheme, id)}})
	require.NoError(t, err)
	s.c, err = s.ep.OpenContext()
	require.NoError(t, err)
	return s
}

func (s *side) start(peer string) {
	var err error
	s.peer, err = s.ep.Lookup(peer)
	require.NoError(s.t, err)
	s.done.Go(s.run)
}

func (s *side) now() time.Duration { return time.Since(s.began) }

// crash announces a crash.
func (s *side) crash() { s.crashed.Store(int64(s.now())) }

// stop ends the traffic; every operation completes.
func (s *side) stop() {
	close(s.quit)
	s.done.Wait()
	assert.NoError(s.t, s.ep.Close())
}

func (s *side) run() {
	for range underWay {
		s.post(true)
		s.post(false)
	}
	out := make([]bmi.Completion, 2*underWay)
	for {
		n, err := s.c.TestContext(out, 10*time.Millisecond)
		if !assert.NoError(s.t, err) {
			return
		}
		for _, c := range out[:n] {
			s.over(c)
		}
		select {
		case <-s.quit:
			assert.NoError(s.t, s.c.Close())
			return
		default:
		}
	}
}

// sizes of messages: in a record, in the arena, by rendezvous.
var crashSizes = []int{16, 64, 4 << 10, 100 << 10}

// post posts one operation, and more while they complete at once.
func (s *side) post(recv bool) {
	for {
		p := &posted{recv: recv, buf: make([]byte, crashSizes[len(crashSizes)-1]), at: s.now()}
		got, err := s.postOne(p)
		if !assert.NoError(s.t, err) {
			return
		}
		if !got.Done {
			s.posts[got.Op] = p
			return
		}
		s.account(p, got.Size, nil)
	}
}

// postOne posts a receive, or a message that holds its number in each word.
func (s *side) postOne(p *posted) (bmi.Posted, error) {
	if p.recv {
		return s.c.PostRecv(s.peer, 1, p.buf, nil)
	}
	p.buf = p.buf[:crashSizes[s.next%uint64(len(crashSizes))]]
	for i := 0; i < len(p.buf); i += 8 {
		binary.LittleEndian.PutUint64(p.buf[i:], s.next)
	}
	s.next++
	return s.c.PostSend(s.peer, 1, p.buf, nil)
}

// over handles a completion, and posts the next operation.
func (s *side) over(c bmi.Completion) {
	p := s.posts[c.Op]
	if !assert.NotNil(s.t, p, "operation %v completed twice", c.Op) {
		return
	}
	delete(s.posts, c.Op)
	s.account(p, c.Size, c.Err)
	s.post(p.recv)
}

func (s *side) account(p *posted, size int, err error) {
	if crash := time.Duration(s.crashed.Load()); crash > p.at { // it was in progress at the crash
		s.slowest = max(s.slowest, s.now()-crash)
	}
	switch {
	case err != nil:
		s.failed.Add(1)
		s.judge(err)
		time.Sleep(100 * time.Microsecond) // nothing can be posted for a while
	case p.recv:
		s.check(p.buf[:size])
		s.received.Add(1)
	default:
		s.sent.Add(1)
	}
}

// judge checks that an error is one that a crash may cause.
func (s *side) judge(err error) {
	allowed := []error{plugins.ErrDied, bmi.ErrPeerFailed, bmi.ErrUnreachable, bmi.ErrRefused}
	assert.True(s.t, slices.ContainsFunc(allowed, func(a error) bool { return errors.Is(err, a) }), "%v", err)
	if errors.Is(err, plugins.ErrDied) {
		assert.ErrorContains(s.t, err, fmt.Sprintf("crash%d", s.id), "the error names the plugin")
	}
}

// check checks that a message is complete and arrived once.
func (s *side) check(m []byte) {
	if !assert.GreaterOrEqual(s.t, len(m), 16) {
		return
	}
	number := binary.LittleEndian.Uint64(m)
	assert.Equal(s.t, crashSizes[number%uint64(len(crashSizes))], len(m), "message %d", number)
	for i := 0; i < len(m); i += 8 {
		if binary.LittleEndian.Uint64(m[i:]) != number {
			assert.Fail(s.t, "a message in pieces", "message %d, byte %d", number, i)
			return
		}
	}
	assert.False(s.t, s.seen[number], "message %d came twice", number)
	s.seen[number] = true
}

// startQuiet starts traffic over another method in the same process, which must not be affected.
// stop ends it and returns how long the slowest message took.
func startQuiet(t *testing.T) (stop func() time.Duration) {
	server, err := bmi.Open(t.Context(), bmi.Config{Listen: []string{"tcp://127.0.0.1:0"}})
	require.NoError(t, err)
	require.NoError(t, server.Handle(0, func(bmi.Message) {}))
	client, err := bmi.Open(t.Context(), bmi.Config{})
	require.NoError(t, err)
	peer, err := client.Lookup(server.Addresses()[0])
	require.NoError(t, err)
	c, err := client.OpenContext()
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	var slowest time.Duration
	count := 0
	done.Go(func() {
		for ctx.Err() == nil {
			start := time.Now()
			if !assert.NoError(t, c.SendUnexpected(context.Background(), peer, 0, 1, []byte("still there"))) {
				return
			}
			slowest = max(slowest, time.Since(start))
			count++
			time.Sleep(time.Millisecond)
		}
	})
	return func() time.Duration {
		cancel()
		done.Wait()
		t.Logf("other traffic: %d messages, the slowest %v", count, slowest)
		assert.NoError(t, client.Close())
		assert.NoError(t, server.Close())
		return slowest
	}
}
