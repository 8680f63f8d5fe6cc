package shm

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

func TestConnectFailures(t *testing.T) {
	dir := t.TempDir()
	a, b := openDevice(t, dir, ""), openDevice(t, dir, "b")
	f := newFixture(t, a, b)
	p := openPort(t, a, reliable())

	require.NoError(t, p.Connect("nobody", nil, 0))
	e := f.next(a, nic.EventConnectFailed)
	require.ErrorIs(t, e.Conn.Err, nic.ErrUnreachable)
	require.Equal(t, p, e.Cookie)

	require.ErrorContains(t, p.Connect("../b", nil, 0), "bad name")
	require.ErrorContains(t, p.Connect("b", make([]byte, nic.PrivateDataMax+1), 0), "at most 256")

	require.NoError(t, p.Connect("b", make([]byte, nic.PrivateDataMax), 0))
	require.Error(t, p.Connect("b", nil, 0), "connects twice")
	req := f.next(b, nic.EventConnectRequest)
	require.Len(t, req.Conn.Private, nic.PrivateDataMax)
	require.Error(t, b.Reject(req.Conn.Request, make([]byte, nic.RejectReasonMax+1)))
	reason := bytes.Repeat([]byte("r"), nic.RejectReasonMax)
	require.NoError(t, b.Reject(req.Conn.Request, reason))
	var rej *nic.RejectError
	require.ErrorAs(t, f.next(a, nic.EventConnectFailed).Conn.Err, &rej)
	require.Equal(t, reason, rej.Reason)
	require.Equal(t, "b", rej.Remote)
	require.Error(t, b.Reject(req.Conn.Request, nil), "answered twice")
	require.Error(t, b.Accept(req.Conn.Request, openPort(t, b, reliable())))

	// No answer comes: the time passes, and a late answer fails.
	require.NoError(t, p.Connect("b", nil, 20*time.Millisecond))
	req = f.next(b, nic.EventConnectRequest)
	require.ErrorIs(t, f.next(a, nic.EventConnectFailed).Conn.Err, nic.ErrTimeout)
	pb := openPort(t, b, reliable())
	require.NoError(t, b.Accept(req.Conn.Request, pb))
	require.ErrorIs(t, f.next(b, nic.EventDisconnected).Conn.Err, nic.ErrPeerDied)
	require.NoError(t, pb.Close())

	// After all that the port still works.
	f.connect(p, openPort(t, b, reliable()))
	require.Equal(t, 2, a.Stats().Conns+b.Stats().Conns)
}

func TestAcceptChecksThePort(t *testing.T) {
	dir := t.TempDir()
	a, b := openDevice(t, dir, ""), openDevice(t, dir, "b")
	f := newFixture(t, a, b)
	require.NoError(t, openPort(t, a, reliable()).Connect("b", nil, 0))
	req := f.next(b, nic.EventConnectRequest).Conn.Request
	require.Error(t, b.Accept(req, openPort(t, a, reliable())), "port of another device")
	closed := openPort(t, b, reliable())
	require.NoError(t, closed.Close())
	require.Error(t, b.Accept(req, closed))
	require.Error(t, b.Accept(req+1, openPort(t, b, reliable())))
	require.NoError(t, b.Accept(req, openPort(t, b, reliable())))
	f.next(a, nic.EventConnected)
}

func TestDisconnectDeliversFirst(t *testing.T) {
	f, pa, pb := pair(t, reliable())
	for range 10 {
		require.NoError(t, pb.PostRecv(recvLoan()))
	}
	require.NoError(t, pa.PostRecv(recvLoan()))
	for i := range 7 {
		mustSend(t, pa, pattern(1000+i, byte(i)))
	}
	pa.Disconnect()
	f.devs = []*Device{pa.dev}
	require.Equal(t, nic.StatusFlushed, f.next(pa.dev, nic.EventRecv).Desc.Status)
	e := f.next(pa.dev, nic.EventDisconnected)
	require.NoError(t, e.Conn.Err)
	_, err := pa.PostSend(send(nil))
	require.ErrorIs(t, err, nic.ErrNotConnected)

	// With room for one event at a time, order and completeness must not change.
	var kinds []nic.EventKind
	var out [1]nic.Event
	for start := time.Now(); len(kinds) == 0 || kinds[len(kinds)-1] != nic.EventDisconnected; {
		require.Less(t, time.Since(start), patience)
		if pb.dev.Poll(out[:]) == 0 {
			continue
		}
		kinds = append(kinds, out[0].Kind)
		if i := len(kinds) - 1; i < 7 {
			require.Equal(t, pattern(1000+i, byte(i)), out[0].Desc.Data)
		} else if i < 10 {
			require.Equal(t, nic.StatusFlushed, out[0].Desc.Status)
		}
	}
	require.Len(t, kinds, 11)
	require.Error(t, out[0].Conn.Err)
	require.NoError(t, pa.Close())
	require.NoError(t, pb.Close())
	f.devs = append(f.devs, pb.dev)
	f.none(pa.dev, nic.EventDisconnected)
	require.Zero(t, pa.dev.Stats().Conns+pb.dev.Stats().Conns)
	require.Zero(t, pa.dev.sweeps, "an orderly end was taken for a death")
}

func TestBothDisconnectAtOnce(t *testing.T) {
	f, pa, pb := pair(t, reliable())
	pa.Disconnect()
	pb.Disconnect()
	require.NoError(t, f.next(pa.dev, nic.EventDisconnected).Conn.Err)
	require.NoError(t, f.next(pb.dev, nic.EventDisconnected).Conn.Err)
	f.none(pa.dev, nic.EventDisconnected)
	f.none(pb.dev, nic.EventDisconnected)
	require.Zero(t, pa.dev.Stats().Conns+pb.dev.Stats().Conns)
	require.Zero(t, pa.dev.Stats().PeersDied+pb.dev.Stats().PeersDied)
}

func TestDisconnectInEveryState(t *testing.T) {
	dir := t.TempDir()
	a, b := openDevice(t, dir, ""), openDevice(t, dir, "b")
	f := newFixture(t, a, b)
	p := openPort(t, a, reliable())

	// Idle: only posted descriptors come back.
	p.Disconnect()
	f.none(a, nic.EventDisconnected)
	require.NoError(t, p.PostRecv(recvLoan()))
	p.Disconnect()
	f.next(a, nic.EventRecv)
	f.next(a, nic.EventDisconnected)

	// Asking.
	require.NoError(t, p.PostRecv(recvLoan()))
	require.NoError(t, p.Connect("b", nil, 0))
	require.Error(t, p.Close(), "closed while connecting")
	p.Disconnect()
	f.next(a, nic.EventRecv)
	f.next(a, nic.EventDisconnected)

	// Answered: the client may have opened already.
	require.NoError(t, p.Connect("b", nil, 0))
	var req nic.RequestID
	for req == 0 {
		e := f.next(b, nic.EventConnectRequest)
		pb := openPort(t, b, reliable())
		require.NoError(t, b.Accept(e.Conn.Request, pb))
		if pb.conn == nil {
			f.next(b, nic.EventDisconnected) // the one given up above
			continue
		}
		req = e.Conn.Request
		pb.Disconnect()
		require.NoError(t, f.next(b, nic.EventDisconnected).Conn.Err)
	}
	f.next(a, nic.EventConnected)
	require.Error(t, f.next(a, nic.EventDisconnected).Conn.Err)
	f.none(b, nic.EventDisconnected)
	require.Zero(t, a.Stats().Conns+b.Stats().Conns)

	// Draining.
	pb := openPort(t, b, reliable())
	f.connect(p, pb)
	for range 2 {
		require.NoError(t, pb.PostRecv(recvLoan()))
	}
	mustSend(t, p, []byte("1"))
	mustSend(t, p, []byte("2"))
	p.Disconnect()
	var out [1]nic.Event
	for pb.conn.state != connDraining || b.Poll(out[:]) == 0 {
		b.budget = 0
		b.look()
	}
	require.Equal(t, nic.EventRecv, out[0].Kind)
	pb.Disconnect()
	require.Equal(t, nic.StatusFlushed, f.next(b, nic.EventRecv).Desc.Status)
	require.NoError(t, f.next(b, nic.EventDisconnected).Conn.Err)
	f.none(b, nic.EventDisconnected)
}

func TestReconnectOnTheSamePort(t *testing.T) {
	f, pa, pb := pair(t, reliable())
	loan := recvLoan()
	require.NoError(t, pb.PostRecv(loan))
	mustSend(t, pa, pattern(5000, 1))
	f.next(pb.dev, nic.EventRecv)
	pa.Disconnect()
	f.next(pa.dev, nic.EventDisconnected)
	f.next(pb.dev, nic.EventDisconnected)
	f.connect(pa, pb)
	require.Equal(t, pattern(5000, 1), loan.Data, "a loan ends with its connection")
	require.Len(t, pb.retired, 1)
	require.NoError(t, pb.PostRecv(loan))
	require.Empty(t, pb.retired)
	mustSend(t, pa, pattern(6000, 2))
	require.Equal(t, pattern(6000, 2), f.next(pb.dev, nic.EventRecv).Desc.Data)
}

func TestClosedDevice(t *testing.T) {
	f, pa, pb := pair(t, reliable())
	require.NoError(t, pb.PostRecv(recvLoan()))
	mustSend(t, pa, []byte("last words"))
	require.NoError(t, pa.dev.Close())
	require.Equal(t, "last words", string(f.next(pb.dev, nic.EventRecv).Desc.Data))
	err := f.next(pb.dev, nic.EventDisconnected).Conn.Err
	require.Error(t, err)
	require.NotErrorIs(t, err, nic.ErrPeerDied, "an orderly end was taken for a death")

	d := pa.dev
	require.ErrorIs(t, d.Close(), nic.ErrClosed)
	_, err = d.OpenPort(reliable(), nil)
	require.ErrorIs(t, err, nic.ErrClosed)
	_, err = d.Register(make([]byte, 1), 0, 1)
	require.ErrorIs(t, err, nic.ErrClosed)
	require.ErrorIs(t, d.Deregister(1), nic.ErrClosed)
	require.ErrorIs(t, d.Accept(1, pa), nic.ErrClosed)
	require.ErrorIs(t, d.Reject(1, nil), nic.ErrClosed)
	require.ErrorIs(t, pa.PostRecv(recvLoan()), nic.ErrClosed)
	require.ErrorIs(t, pa.Connect("b", nil, 0), nic.ErrClosed)
	require.ErrorIs(t, pa.Close(), nic.ErrClosed)
	_, err = pa.PostSend(send(nil))
	require.ErrorIs(t, err, nic.ErrClosed)
	require.Zero(t, d.Poll(make([]nic.Event, 1)))
	require.False(t, d.Arm())
	_, ok := d.NextDeadline()
	require.False(t, ok)
	pa.Disconnect()
}

// limitFiles lowers the limit of descriptors so that only this many are free.
func limitFiles(t *testing.T, free int) (restore func()) {
	t.Helper()
	fd, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	closeFD(fd) // the lowest free one
	var old unix.Rlimit
	require.NoError(t, unix.Prlimit(0, unix.RLIMIT_NOFILE, nil, &old))
	require.NoError(t, unix.Prlimit(0, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(fd + free), Max: old.Max}, nil))
	restore = func() { _ = unix.Prlimit(0, unix.RLIMIT_NOFILE, &old, nil) }
	t.Cleanup(restore)
	return restore
}

func TestOutOfDescriptors(t *testing.T) {
	dir := t.TempDir()
	a, b := openDevice(t, dir, ""), openDevice(t, dir, "b")
	f := newFixture(t, a, b)
	for free := range 12 {
		restore := limitFiles(t, free)
		p := openPort(t, a, reliable())
		err := p.Connect("b", nil, 50*time.Millisecond)
		if err == nil {
			// Far enough to be an event, on one side or both.
			start := time.Now()
			for err == nil && time.Since(start) < patience && p.conn != nil && p.conn.state != connOpen {
				f.poll()
				for _, e := range f.seen[b] {
					if e.Kind == nic.EventConnectRequest {
						require.NoError(t, b.Reject(e.Conn.Request, []byte("enough")))
					}
				}
				f.seen[b] = nil
			}
			err = f.next(a, nic.EventConnectFailed).Conn.Err
		}
		restore()
		var rej *nic.RejectError
		if !errors.As(err, &rej) && !errors.Is(err, nic.ErrTimeout) {
			require.ErrorContains(t, err, "ulimit -n", fmt.Sprint(free))
		}
		require.NoError(t, p.Close())
	}
	require.NotZero(t, b.Stats().OutOfResources)
	_, err := func() (nic.Device, error) {
		defer limitFiles(t, 2)()
		return Provider{Dir: dir}.Open(nic.Config{Listen: "c"})
	}()
	require.ErrorContains(t, err, "ulimit -n")
	f.seen[a], f.seen[b] = nil, nil
	f.connect(openPort(t, a, reliable()), openPort(t, b, reliable()))
}

func TestManyConnections(t *testing.T) {
	dir := t.TempDir()
	a, b := openDevice(t, dir, ""), openDevice(t, dir, "b")
	f := newFixture(t, a, b)
	var pas, pbs []*Port
	for range 100 {
		pa, pb := openPort(t, a, reliable()), openPort(t, b, reliable())
		f.connect(pa, pb)
		require.NoError(t, pb.PostRecv(recvLoan()))
		pas, pbs = append(pas, pa), append(pbs, pb)
	}
	for i, p := range pas {
		mustSend(t, p, []byte{byte(i)})
	}
	got := map[*Port]byte{}
	for range pas {
		e := f.next(b, nic.EventRecv)
		got[e.Cookie.(*Port)] = e.Desc.Data[0]
	}
	for i, p := range pbs {
		require.Equal(t, byte(i), got[p])
	}
}

// TestFullBacklog: more clients than the listener's backlog holds wait their
// turn.
func TestFullBacklog(t *testing.T) {
	dir := t.TempDir()
	b := openDevice(t, dir, "b")
	require.NoError(t, unix.Listen(b.listener, 1))
	a := openDevice(t, dir, "")
	f := newFixture(t, a)
	var ports []*Port
	for range 6 {
		p := openPort(t, a, reliable())
		require.NoError(t, p.Connect("b", nil, 0))
		ports = append(ports, p)
	}
	require.Equal(t, connDialing, ports[5].conn.state, "the backlog was not full, the test proves nothing")
	at, ok := a.NextDeadline()
	require.True(t, ok)
	require.LessOrEqual(t, at, a.clock()+dialRetry)
	f.devs = append(f.devs, b)
	for range ports {
		require.NoError(t, b.Accept(f.next(b, nic.EventConnectRequest).Conn.Request, openPort(t, b, reliable())))
		f.next(a, nic.EventConnected)
	}
}

func TestOutOfMemory(t *testing.T) {
	a := openDevice(t, t.TempDir(), "")
	p := openPort(t, a, reliable())
	var size int
	status, err := os.ReadFile("/proc/self/statm")
	require.NoError(t, err)
	_, err = fmt.Sscan(string(status), &size)
	require.NoError(t, err)
	var old unix.Rlimit
	// No new mapping of a segment's size fits; what Go has mapped stays.
	limit := uint64(size)*uint64(os.Getpagesize()) + segmentBytes/2
	require.NoError(t, unix.Prlimit(0, unix.RLIMIT_AS, nil, &old))
	require.NoError(t, unix.Prlimit(0, unix.RLIMIT_AS, &unix.Rlimit{Cur: limit, Max: old.Max}, nil))
	err = p.Connect("b", nil, 0)
	_, allocErr := a.Alloc(4<<20, false)
	require.NoError(t, unix.Prlimit(0, unix.RLIMIT_AS, &old, nil))
	require.ErrorContains(t, err, "memory limit")
	require.ErrorContains(t, allocErr, "memory limit")
	require.ErrorIs(t, err, unix.ENOMEM)
	require.Zero(t, a.Stats().Conns)
}
