//go:build linux

package kernel

import (
	"errors"
	"io"
	"math"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/need"
	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
)

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(wallclock.Patience); !done(); runtime.Gosched() {
		require.True(t, time.Now().Before(deadline), "took too long: %s", what)
	}
}

// connect makes one connection to a listener.
func connect(t *testing.T, from *Stack, to stack.Listener, at netip.AddrPort) (dialled, accepted *stream) {
	t.Helper()
	d, err := from.Dial(at, 1)
	require.NoError(t, err)
	eventually(t, "connected", func() bool { return d.Connected() == nil })
	var a stack.Stream
	eventually(t, "accepted", func() bool {
		a, err = to.Accept(2)
		return err == nil
	})
	return d.(*stream), a.(*stream)
}

// TestNoEventBelowTheMark: no event comes below the mark. The conformance suite tests that one comes at
// the mark.
func TestNoEventBelowTheMark(t *testing.T) {
	s := open(t, Options{})
	l, err := s.Listen(loopback4, 0)
	require.NoError(t, err)
	d, a := connect(t, s, l, l.Addr())
	var events [8]stack.Event
	buf := make([]byte, 1000)
	drain := func() {
		for s.Poll(events[:]) > 0 {
		}
		for err = nil; err == nil; {
			_, err = a.Recv([][]byte{buf})
		}
		require.ErrorIs(t, err, stack.ErrAgain)
	}
	drain()
	a.LowWater(1000)
	for range 3 {
		n, err := d.Send([][]byte{buf[:999]})
		require.NoError(t, err)
		require.Equal(t, 999, n)
		eventually(t, "delivered", d.Delivered)
		require.Zero(t, s.Poll(events[:]))
		_, err = d.Send([][]byte{buf[:1]})
		require.NoError(t, err)
		eventually(t, "an event", func() bool { return s.Poll(events[:]) > 0 })
		drain()
	}
}

func TestSocketsHaveTheOptions(t *testing.T) {
	o := Options{
		KeepIdle: 1500 * time.Millisecond, KeepInterval: 7 * time.Second, KeepCount: 5,
		UserTimeout: 1234 * time.Millisecond, SendBuffer: 100_000, RecvBuffer: 200_000,
	}
	s := open(t, o)
	l, err := s.Listen(loopback4, 0)
	require.NoError(t, err)
	d, a := connect(t, s, l, l.Addr())
	for name, c := range map[string]*stream{"dialled": d, "accepted": a} {
		for _, want := range []struct{ level, option, value int }{
			{unix.IPPROTO_TCP, unix.TCP_NODELAY, 1},
			{unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1},
			{unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, 2},
			{unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, 7},
			{unix.IPPROTO_TCP, unix.TCP_KEEPCNT, 5},
			{unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, 1234},
			{unix.SOL_SOCKET, unix.SO_SNDBUF, 2 * o.SendBuffer}, // socket(7): the kernel doubles it
			{unix.SOL_SOCKET, unix.SO_RCVBUF, 2 * o.RecvBuffer},
		} {
			got, err := unix.GetsockoptInt(c.fd, want.level, want.option)
			require.NoError(t, err)
			assert.Equal(t, want.value, got, "%s, option %d/%d", name, want.level, want.option)
		}
		flags, err := unix.FcntlInt(uintptr(c.fd), unix.F_GETFL, 0)
		require.NoError(t, err)
		assert.NotZero(t, flags&unix.O_NONBLOCK)
		flags, err = unix.FcntlInt(uintptr(c.fd), unix.F_GETFD, 0)
		require.NoError(t, err)
		assert.NotZero(t, flags&unix.FD_CLOEXEC)
	}
}

func TestDefaultsNoticeADeadPeerInTwentySeconds(t *testing.T) {
	o, err := Options{}.filled()
	require.NoError(t, err)
	assert.Equal(t, 20*time.Second, o.KeepIdle+time.Duration(o.KeepCount)*o.KeepInterval)
	assert.Equal(t, 20*time.Second, o.UserTimeout)
	assert.Zero(t, o.SendBuffer+o.RecvBuffer, "the kernel's autotuning")
}

func TestOptionsOutOfRange(t *testing.T) {
	for name, o := range map[string]Options{
		"KeepIdle":     {KeepIdle: -1},
		"KeepInterval": {KeepInterval: 10 * time.Hour},
		"KeepCount":    {KeepCount: 128},
		"UserTimeout":  {UserTimeout: -time.Second},
		"SendBuffer":   {SendBuffer: -1},
		"RecvBuffer":   {RecvBuffer: 1<<30 + 1},
		"Backlog":      {Backlog: -5},
	} {
		_, err := Open(o)
		assert.ErrorContains(t, err, name)
	}
}

func TestDualStack(t *testing.T) {
	need.Loopback6(t)
	s := open(t, Options{})
	l, err := s.Listen(netip.MustParseAddrPort("[::]:0"), 0)
	require.NoError(t, err)
	port := l.Addr().Port()
	for _, from := range []string{"127.0.0.1", "::1", "::ffff:127.0.0.1"} {
		ip := netip.MustParseAddr(from)
		d, a := connect(t, s, l, netip.AddrPortFrom(ip, port))
		assert.Equal(t, netip.AddrPortFrom(ip.Unmap(), port), d.Remote())
		assert.Equal(t, ip.Unmap(), a.Remote().Addr())
		local, err := unix.Getsockname(d.fd)
		require.NoError(t, err)
		assert.Equal(t, addrPort(local), a.Remote())
		d.Close()
		a.Close()
	}
}

func TestAddressesThatAreNone(t *testing.T) {
	s := open(t, Options{})
	_, err := s.Listen(netip.AddrPort{}, 0)
	require.ErrorIs(t, err, errBadAddress)
	_, err = s.Dial(netip.AddrPort{}, 0)
	require.ErrorIs(t, err, errBadAddress)
	_, err = s.Dial(netip.MustParseAddrPort("[fe80::1%nosuchinterface]:1"), 0)
	require.Error(t, err)
	_, err = s.Listen(netip.MustParseAddrPort("192.0.2.1:0"), 0) // RFC 5737: nobody's
	require.ErrorIs(t, err, unix.EADDRNOTAVAIL)
}

// A socket that dials a free port of its own machine may get that port as its local port.
func TestSelfConnectIsRefused(t *testing.T) {
	s := open(t, Options{})
	at, sa, err := sockaddr(loopback4)
	require.NoError(t, err)
	fd, err := s.openSocket(at)
	require.NoError(t, err)
	require.NoError(t, unix.Bind(fd, sa))
	self, err := unix.Getsockname(fd)
	require.NoError(t, err)
	c := &stream{remote: addrPort(self)}
	require.Zero(t, s.watch(&c.socket, fd, 1))
	if err := unix.Connect(fd, self); err != nil {
		require.ErrorIs(t, err, unix.EINPROGRESS)
	}
	eventually(t, "an answer", func() bool { return !errors.Is(c.Connected(), stack.ErrAgain) })
	require.ErrorIs(t, c.Connected(), stack.ErrRefused)
	require.ErrorIs(t, c.Connected(), errSelfConnect)
}

func TestReset(t *testing.T) {
	s := open(t, Options{})
	l, err := s.Listen(loopback4, 0)
	require.NoError(t, err)
	d, a := connect(t, s, l, l.Addr())
	require.NoError(t, unix.SetsockoptLinger(d.fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1}))
	d.Close()
	var why error
	eventually(t, "the reset", func() bool {
		_, why = a.Recv([][]byte{make([]byte, 1)})
		return !errors.Is(why, stack.ErrAgain)
	})
	require.ErrorIs(t, why, unix.ECONNRESET)
	_, why = a.Send([][]byte{{1}})
	require.ErrorIs(t, why, unix.EPIPE)
	require.False(t, func() bool { d.Close(); return d.Delivered() }(), "closed")
}

// The end of a stream that was behind the bytes, with its edge already taken, must not be hidden by
// ErrAgain.
func TestShortReadBeforeTheEnd(t *testing.T) {
	s := open(t, Options{})
	l, err := s.Listen(loopback4, 0)
	require.NoError(t, err)
	d, a := connect(t, s, l, l.Addr())
	_, err = d.Send([][]byte{[]byte("abc")})
	require.NoError(t, err)
	require.NoError(t, d.Finish())
	eventually(t, "delivered", d.Delivered)
	var events [8]stack.Event
	for s.Poll(events[:]) > 0 {
		continue
	}
	n, err := a.Recv([][]byte{make([]byte, 10)})
	require.Equal(t, 3, n)
	require.NoError(t, err)
	_, err = a.Recv([][]byte{make([]byte, 10)})
	require.ErrorIs(t, err, io.EOF)

	d, a = connect(t, s, l, l.Addr())
	for s.Poll(events[:]) > 0 {
		continue
	}
	_, err = a.Recv([][]byte{make([]byte, 10)})
	require.ErrorIs(t, err, stack.ErrAgain)
	_, err = d.Send([][]byte{[]byte("abc")})
	require.NoError(t, err)
	eventually(t, "bytes and ErrAgain from one call", func() bool {
		n, err = a.Recv([][]byte{make([]byte, 10)})
		return n == 3
	})
	require.ErrorIs(t, err, stack.ErrAgain, "saves a call")
}

func TestOutOfDescriptors(t *testing.T) {
	s := open(t, Options{})
	l, err := s.Listen(loopback4, 0)
	require.NoError(t, err)
	d, err := s.Dial(l.Addr(), 1)
	require.NoError(t, err)
	eventually(t, "connected", func() bool { return d.Connected() == nil })

	var before unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &before))
	tight := before
	tight.Cur = 3
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &tight))
	_, acceptErr := l.Accept(2)
	_, dialErr := s.Dial(l.Addr(), 3)
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &before))
	require.ErrorIs(t, acceptErr, stack.ErrExhausted)
	require.ErrorIs(t, dialErr, stack.ErrExhausted)

	_, err = l.Accept(2)
	require.NoError(t, err, "there is room again")
}

// TestRoom: with any limit of the process, some descriptors are left for other uses.
func TestRoom(t *testing.T) {
	for descriptors, want := range map[uint64]int{
		0: 0, 64: 32, 256: 160, 1024: 832, 4096: 3520, 1 << 20: 917440, math.MaxUint64: math.MaxInt32 - math.MaxInt32/8 - 64,
	} {
		require.Equal(t, want, roomOf(descriptors), "%d", descriptors)
	}
	require.Positive(t, open(t, Options{}).Room())
}

func TestIdleStreamsAreSmall(t *testing.T) {
	const pairs = 1000
	const bytesMax = 400
	s := open(t, Options{})
	l, err := s.Listen(loopback4, 0)
	require.NoError(t, err)
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	streams := make([]stack.Stream, 0, 2*pairs)
	before := heap()
	for range pairs {
		d, a := connect(t, s, l, l.Addr())
		streams = append(streams, d, a)
	}
	per := (int64(heap()) - int64(before)) / (2 * pairs)
	t.Logf("%d bytes per stream", per)
	assert.Less(t, per, int64(bytesMax))
	for _, c := range streams {
		c.Close()
	}
	assert.Same(t, &l.(*listener).socket, s.open.first)
	assert.Nil(t, s.open.first.next)
}

func TestCloseEndsASleep(t *testing.T) {
	s, err := Open(Options{})
	require.NoError(t, err)
	done := make(chan struct{})
	require.True(t, s.Arm())
	go func() {
		defer close(done)
		s.Sleep(-1)
	}()
	require.NoError(t, s.Close())
	<-done
	s.Wake()
	s.Sleep(-1)
	assert.False(t, s.Arm())
	s.Disarm()
	assert.Zero(t, s.Poll(make([]stack.Event, 1)))
	_, err = s.Dial(loopback4, 1)
	require.ErrorIs(t, err, errClosed)
	_, err = s.Listen(loopback4, 1)
	require.ErrorIs(t, err, errClosed)
	require.NoError(t, s.Close())
}
