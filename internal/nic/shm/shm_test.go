package shm

import (
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// patience bounds every wait of these tests.
const patience = wallclock.Patience

func TestMain(m *testing.M) {
	flag.Parse()
	if role := os.Getenv(childEnv); role != "" {
		os.Exit(runChild(role))
	}
	goleak.VerifyTestMain(m)
}

// newRand is the one generator of a test.
func newRand(t testing.TB) *rand.Rand { return rand.New(rand.NewPCG(sim.Seed(t), 0)) }

func openDevice(t testing.TB, dir, name string) *Device {
	t.Helper()
	dev, err := Provider{Dir: dir}.Open(nic.Config{Listen: name, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	d := dev.(*Device)
	t.Cleanup(func() {
		if !d.closed {
			require.NoError(t, d.Close())
		}
	})
	return d
}

func openPort(t testing.TB, d *Device, attrs nic.PortAttrs) *Port {
	t.Helper()
	p, err := d.OpenPort(attrs, nil)
	require.NoError(t, err)
	p.(*Port).cookie = p
	return p.(*Port)
}

func reliable() nic.PortAttrs {
	return nic.PortAttrs{Reliability: nic.ReliableDelivery, Tag: 7, RemoteRead: true, RemoteWrite: true}
}

// fixture drives several devices from one goroutine and records their events.
type fixture struct {
	t    testing.TB
	devs []*Device
	seen map[*Device][]nic.Event
}

func newFixture(t testing.TB, devs ...*Device) *fixture {
	return &fixture{t: t, devs: devs, seen: make(map[*Device][]nic.Event)}
}

func (f *fixture) poll() (n int) {
	var out [16]nic.Event
	for _, d := range f.devs {
		k := d.Poll(out[:])
		n += k
		f.seen[d] = append(f.seen[d], out[:k]...)
	}
	return n
}

// next takes the oldest event of a kind that a device reports.
func (f *fixture) next(d *Device, kind nic.EventKind) nic.Event {
	f.t.Helper()
	for start := time.Now(); time.Since(start) < patience; {
		for i, e := range f.seen[d] {
			if e.Kind == kind {
				f.seen[d] = append(f.seen[d][:i:i], f.seen[d][i+1:]...)
				return e
			}
		}
		if f.poll() == 0 {
			runtime.Gosched()
		}
	}
	require.FailNow(f.t, "no event", "kind %d on %s; seen %s", kind, d.addr, describe(f.seen[d]))
	return nic.Event{}
}

// none polls for a while and requires that a device reports nothing of a kind.
func (f *fixture) none(d *Device, kind nic.EventKind) {
	f.t.Helper()
	for range 3 * pollBudget {
		f.poll()
	}
	for _, e := range f.seen[d] {
		require.NotEqual(f.t, kind, e.Kind, describe(f.seen[d]))
	}
}

func describe(events []nic.Event) (s string) {
	for _, e := range events {
		s += fmt.Sprintf("[kind %d", e.Kind)
		if e.Desc != nil {
			s += fmt.Sprintf(" status %d length %d", e.Desc.Status, e.Desc.Length)
		}
		if e.Conn != nil {
			s += fmt.Sprintf(" err %v", e.Conn.Err)
		}
		s += "] "
	}
	return s
}

// connect joins a port of a to a port of b, which listens.
func (f *fixture) connect(pa, pb *Port) {
	f.t.Helper()
	asUser(f.t, pa.dev.euid, func() { require.NoError(f.t, pa.Connect(pb.dev.addr, []byte("private"), 0)) })
	req := f.next(pb.dev, nic.EventConnectRequest)
	require.Equal(f.t, "private", string(req.Conn.Private))
	require.Equal(f.t, pa.dev.euid, req.Conn.User.UID)
	if req.Conn.OtherUser {
		require.Equal(f.t, fmt.Sprintf("~uid%d.%s", pa.dev.euid, pa.dev.addr), req.Conn.Remote)
	} else {
		require.Equal(f.t, pa.dev.addr, req.Conn.Remote)
	}
	require.NoError(f.t, pb.dev.Accept(req.Conn.Request, pb))
	e := f.next(pa.dev, nic.EventConnected)
	require.Equal(f.t, pb.dev.addr, e.Conn.Remote)
	require.Equal(f.t, pa.cookie, e.Cookie)
	f.next(pb.dev, nic.EventConnected)
}

// pair is two devices with a connection between one port of each.
func pair(t testing.TB, attrs nic.PortAttrs) (f *fixture, pa, pb *Port) {
	t.Helper()
	dir := t.TempDir()
	b := openDevice(t, dir, "b")
	a := openDevice(t, dir, "")
	f = newFixture(t, a, b)
	pa, pb = openPort(t, a, attrs), openPort(t, b, attrs)
	f.connect(pa, pb)
	return f, pa, pb
}

func send(data []byte) *nic.Descriptor {
	return &nic.Descriptor{Op: nic.OpSend, Segments: []nic.Segment{{Data: data}}}
}

func recvInto(buf []byte) *nic.Descriptor {
	return &nic.Descriptor{Op: nic.OpRecv, Segments: []nic.Segment{{Data: buf}}}
}

func recvLoan() *nic.Descriptor {
	return &nic.Descriptor{Op: nic.OpRecv, Flags: nic.FlagLoan}
}

// mustSend posts a send that the device finishes at once.
func mustSend(t testing.TB, p *Port, data []byte) {
	t.Helper()
	d := send(data)
	done, err := p.PostSend(d)
	require.NoError(t, err)
	require.True(t, done)
	require.Equal(t, nic.StatusSuccess, d.Status)
	require.Equal(t, len(data), d.Length)
}

// pattern is n bytes that differ with the seed.
func pattern(n int, seed byte) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7+i>>8) ^ seed
	}
	return b
}

func wordAtomic(word *uint64, v uint64) { atomic.StoreUint64(word, v) }
