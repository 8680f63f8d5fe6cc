//go:build linux

package service_test

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/bmi/bmitest"
	"github.com/viaduct-hpc/viaduct/internal/plugins/wire"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
	"github.com/viaduct-hpc/viaduct/plugins/proto"
)

const limit = wallclock.Patience

// A program is the Host of its sessions.
type program struct{ arrived chan string }

func newProgram() *program { return &program{arrived: make(chan string, 100)} }

func (*program) NewAddr(p bmi.Peer) bmi.Addr { return bmi.NewHostAddr(p) }
func (*program) Wake()                       {}
func (p *program) ArrivedShared(from bmi.Addr, class bmi.Class, tag bmi.Tag, data []byte) bool {
	return p.Arrived(from, class, tag, data)
}

func (p *program) Arrived(_ bmi.Addr, _ bmi.Class, _ bmi.Tag, data []byte) bool {
	p.arrived <- string(data)
	return true
}

// An end is how an operation ended.
type end struct {
	size int
	err  error
}

// post posts an operation in a session.
func (f *far) post(kind bmi.Kind, to string, buf []byte) chan end {
	a, err := f.Resolve(to)
	require.NoError(f.p.t, err)
	ended := make(chan end, 1)
	op := bmi.NewHostOp(func(_ *bmi.Op, size int, err error) { ended <- end{size, err} })
	op.Kind, op.Peer, op.Tag, op.Bufs, op.Size = kind, bmi.HostPeer(a), 7, [][]byte{buf}, len(buf)
	if kind == bmi.KindRecv {
		f.PostRecv(op)
	} else {
		f.PostSend(op)
	}
	return ended
}

// await sleeps and polls until an operation ends.
func (f *far) await(ended chan end) end {
	for start := time.Now(); ; {
		select {
		case e := <-ended:
			return e
		default:
		}
		require.Less(f.p.t, time.Since(start), limit, "the operation does not end")
		if !f.Poll() {
			if f.Arm() {
				f.Sleep(time.Second)
			}
			f.Disarm()
		}
	}
}

// pair opens two sessions that listen as a and b.
func (p *plugin) pair() (a, b *far) {
	a, err := p.open(newProgram(), []string{"mem://a"}, nil)
	require.NoError(p.t, err)
	b, err = p.open(newProgram(), []string{"mem://b"}, nil)
	require.NoError(p.t, err)
	return a, b
}

func exchange(t *testing.T, a, b *far) {
	got := make([]byte, 5)
	recv := b.post(bmi.KindRecv, "mem://a", got)
	require.NoError(t, a.await(a.post(bmi.KindSend, "mem://b", []byte("hello"))).err)
	require.Equal(t, end{5, nil}, b.await(recv))
	require.Equal(t, "hello", string(got))
}

func (f *far) ping() error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	_, err := f.p.server.Ping(ctx, &proto.PingRequest{Session: f.id})
	return err
}

// mappings returns how many session memories this process has mapped, descriptors how many
// descriptors it has.
func mappings(t *testing.T) int {
	maps, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	return strings.Count(string(maps), "/memfd:")
}

func descriptors(t *testing.T) int {
	all, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(all)
}

// TestIdle: sessions with nothing to do sleep, and wake up.
func TestIdle(t *testing.T) {
	for name, sleeper := range map[string]bool{"sleeper": true, "no sleeper": false} {
		t.Run(name, func(t *testing.T) {
			p := newPlugin(t)
			p.opt.NoSleeper = !sleeper
			a, b := p.pair()
			exchange(t, a, b)
			recv := b.post(bmi.KindRecv, "mem://a", make([]byte, 5))
			// One second is measured; it is repeated until a busy machine lets the session fall
			// asleep.
			idle := func() bool {
				before := p.server.LoopStats(b.id)
				<-time.After(time.Second)
				after := p.server.LoopStats(b.id)
				if sleeper {
					return before == after && after.Sleeps > 0
				}
				return after.Turns-before.Turns < 20_000 && after.Pauses > before.Pauses // a burst of turns each millisecond at most
			}
			require.Eventually(t, idle, limit, time.Millisecond, "it sleeps all the time")
			require.NoError(t, a.await(a.post(bmi.KindSend, "mem://b", []byte("again"))).err)
			require.Equal(t, end{5, nil}, b.await(recv))
			require.NoError(t, b.ping())
			require.NoError(t, a.Close(t.Context()))
			require.NoError(t, b.Close(t.Context()))
		})
	}
}

// TestCloseWithOperations: operations in progress end, each once, and the session frees everything.
func TestCloseWithOperations(t *testing.T) {
	maps, fds := mappings(t), descriptors(t)
	p := newPlugin(t)
	a, b := p.pair()
	exchange(t, a, b)
	var recvs []chan end
	for range 100 {
		recvs = append(recvs, b.post(bmi.KindRecv, "mem://a", make([]byte, 64)))
	}
	require.NoError(t, b.Close(t.Context()))
	for _, r := range recvs {
		require.ErrorIs(t, (<-r).err, bmi.ErrClosed)
	}
	require.NoError(t, a.Close(t.Context()))
	assert.Zero(t, p.server.Sessions())
	assert.Equal(t, maps, mappings(t))
	assert.Equal(t, fds, descriptors(t))
	assert.Equal(t, codes.NotFound, status.Code(a.ping()))
}

// TestGarbage: a program that breaks the rules ends only its own session.
func TestGarbage(t *testing.T) {
	garbage := map[string]func(f *far){
		"a word of the ring": func(f *far) {
			copy(f.rings.ToPlugin[128:], strings.Repeat("\xa5", 256))
			f.there.Ring()
		},
		"a record": func(f *far) {
			room, ok, err := f.out.Reserve(wire.HeadBytes)
			require.True(t, ok && err == nil)
			copy(room, strings.Repeat("\xa5", wire.HeadBytes))
			f.out.Commit()
			f.there.Ring()
		},
	}
	for name, write := range garbage {
		t.Run(name, func(t *testing.T) {
			maps, fds := mappings(t), descriptors(t)
			p := newPlugin(t)
			a, b := p.pair()
			exchange(t, a, b)
			bad, err := p.open(newProgram(), nil, nil)
			require.NoError(t, err)
			write(bad)
			select {
			case <-p.server.Gone(bad.id):
			case <-time.After(limit):
				t.Fatal("the session goes on")
			}
			err = bad.ping()
			require.Equal(t, codes.Aborted, status.Code(err))
			assert.Contains(t, err.Error(), "broke the rules")
			r, err := p.server.Resolve(t.Context(), &proto.ResolveRequest{Session: bad.id, Address: "mem://a"})
			require.NoError(t, err)
			assert.NotNil(t, r.Failure)
			c, err := p.server.Close(t.Context(), &proto.CloseRequest{Session: bad.id})
			require.NoError(t, err)
			assert.Contains(t, c.Failure.GetText(), "broke the rules")
			bad.free()
			exchange(t, a, b)
			require.NoError(t, a.Close(t.Context()))
			require.NoError(t, b.Close(t.Context()))
			assert.Equal(t, maps, mappings(t))
			assert.Equal(t, fds, descriptors(t))
		})
	}
}

// TestShutdown: all sessions end, and no session can be opened any more.
func TestShutdown(t *testing.T) {
	p := newPlugin(t)
	a, b := p.pair()
	p.server.Shutdown()
	a.free()
	b.free()
	_, err := p.open(newProgram(), nil, nil)
	require.ErrorIs(t, err, bmi.ErrClosed)
}

// TestStats: the counters of a session.
func TestStats(t *testing.T) {
	p := newPlugin(t)
	a, b := p.pair()
	exchange(t, a, b)
	r, err := p.server.Stats(t.Context(), &proto.StatsRequest{Session: a.id})
	require.NoError(t, err)
	var counts struct {
		Method bmi.MethodStats
		Peers  []bmi.PeerStats
	}
	require.NoError(t, json.Unmarshal(r.Json, &counts))
	assert.EqualValues(t, 1, counts.Method.MessagesSent)
	require.Len(t, counts.Peers, 1)
	assert.Equal(t, "mem://b", counts.Peers[0].Addr)
	require.NoError(t, a.Close(t.Context()))
	require.NoError(t, b.Close(t.Context()))
}

// TestDescribe: the methods of a plugin.
func TestDescribe(t *testing.T) {
	d, err := newPlugin(t).server.Describe(t.Context(), &proto.DescribeRequest{})
	require.NoError(t, err)
	assert.Equal(t, "v1", d.Version)
	require.Len(t, d.Methods, 1)
	assert.Equal(t, bmitest.Name, d.Methods[0].Name)
	assert.True(t, d.Rings)
	assert.EqualValues(t, wire.Version, d.RingsVersion)
}
