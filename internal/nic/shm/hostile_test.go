package shm

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// dialRaw connects a socket to a device by hand, perhaps as another user.
func dialRaw(t testing.TB, d *Device, uid ...uint32) int {
	t.Helper()
	fd, err := newSocket()
	require.NoError(t, err)
	asUser(t, append(uid, d.euid)[0], func() { require.NoError(t, unix.Connect(fd, d.home().sockaddr(d.name))) })
	t.Cleanup(func() { closeFD(fd) })
	return fd
}

// answerTo polls until a raw socket has an answer.
func (f *fixture) answerTo(fd int) record {
	f.t.Helper()
	for start := time.Now(); time.Since(start) < patience; {
		f.poll()
		if r, ok := recvRecord(fd); ok {
			return r
		}
	}
	require.FailNow(f.t, "no answer")
	return record{}
}

// parts are the parts of a correct hello, for tests to modify.
type parts struct {
	segment, bell1, bell2, table int
	mem                          []byte
}

func newParts(t testing.TB) (p parts) {
	t.Helper()
	var err error
	p.segment, p.mem, err = newSegment()
	require.NoError(t, err)
	p.bell1, err = newEventfd()
	require.NoError(t, err)
	p.bell2, err = newEventfd()
	require.NoError(t, err)
	var mem []byte
	p.table, mem, err = newTable()
	require.NoError(t, err)
	t.Cleanup(func() {
		for _, fd := range []int{p.segment, p.bell1, p.bell2, p.table} {
			closeFD(fd)
		}
		unmap(p.mem)
		unmap(mem)
	})
	return p
}

func rawMemfd(t testing.TB, size int64, seals int) int {
	t.Helper()
	fd, err := newMemfd("test", size)
	require.NoError(t, err)
	require.NoError(t, seal(fd, seals))
	t.Cleanup(func() { closeFD(fd) })
	return fd
}

func TestHostileHellos(t *testing.T) {
	twoKinds(t, func(t *testing.T, server, client func(string) *Device) {
		hostileHellos(t, server("d"), client("").euid)
	})
}

func hostileHellos(t *testing.T, d *Device, uid uint32) {
	f := newFixture(t, d)
	ok := newParts(t)
	good := hello{addr: "~1.1"}.append(nil)
	edit := func(off int, b byte) []byte {
		c := append([]byte(nil), good...)
		c[off] = b
		return c
	}
	all := []int{ok.segment, ok.bell1, ok.bell2, ok.table}
	swap := func(i, fd int) []int {
		c := append([]int(nil), all...)
		c[i] = fd
		return c
	}
	blocking, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	require.NoError(t, err)
	defer closeFD(blocking)
	null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	defer closeFD(null)
	blank := rawMemfd(t, segmentBytes, segmentSeals)

	for _, c := range []struct {
		what string
		data []byte
		fds  []int
		code uint16
		err  error
	}{
		{"one byte", []byte{1}, all, codeProtocol, nic.ErrProtocol},
		{"no magic", edit(0, 'X'), all, codeProtocol, nic.ErrProtocol},
		{"next version", edit(4, 2), all, codeVersion, nic.ErrVersion},
		{"another layout", edit(12, 65), all, codeVersion, nic.ErrVersion},
		{"not a hello", edit(6, byte(kindBye)), all, codeProtocol, nic.ErrProtocol},
		{"cut short", good[:len(good)-1], all, codeProtocol, nic.ErrProtocol},
		{"too long", append(append([]byte(nil), good...), make([]byte, messageMax)...), all, codeProtocol, nic.ErrProtocol},
		{"bad address", hello{addr: "../../x"}.append(nil), all, codeProtocol, nic.ErrProtocol},
		{"bad access", edit(40, 0xff), all, codeProtocol, nic.ErrProtocol},
		{"no descriptors", good, nil, codeProtocol, nic.ErrProtocol},
		{"three descriptors", good, all[:3], codeProtocol, nic.ErrProtocol},
		{"too many descriptors", good, append(append(append(append([]int(nil), all...), all...), all...), append(all, all...)...), codeProtocol, nic.ErrProtocol},
		{"segment unsealed", good, swap(0, rawMemfd(t, segmentBytes, 0)), codeProtocol, nic.ErrProtocol},
		{"segment can shrink", good, swap(0, rawMemfd(t, segmentBytes, unix.F_SEAL_GROW|unix.F_SEAL_SEAL)), codeProtocol, nic.ErrProtocol},
		{"segment read-only", good, swap(0, rawMemfd(t, segmentBytes, segmentSeals|unix.F_SEAL_WRITE)), codeProtocol, nic.ErrProtocol},
		{"segment too small", good, swap(0, rawMemfd(t, 4096, segmentSeals)), codeProtocol, nic.ErrProtocol},
		{"segment without magic", good, swap(0, blank), codeProtocol, nic.ErrProtocol},
		{"segment is a device", good, swap(0, null), codeProtocol, nic.ErrProtocol},
		{"table unsealed", good, swap(3, rawMemfd(t, tableBytes, 0)), codeProtocol, nic.ErrProtocol},
		{"table too small", good, swap(3, rawMemfd(t, 4096, segmentSeals)), codeProtocol, nic.ErrProtocol},
		{"doorbell can block", good, swap(1, blocking), codeProtocol, nic.ErrProtocol},
		{"doorbell is no eventfd", good, swap(2, null), codeProtocol, nic.ErrProtocol},
	} {
		t.Run(c.what, func(t *testing.T) {
			fd := dialRaw(t, d, uid)
			require.NoError(t, sendRecord(fd, c.data, c.fds...))
			r := f.answerTo(fd)
			require.False(t, r.end, "no answer before the end")
			rej, err := parseReject(r.data)
			require.NoError(t, err)
			require.Equal(t, c.code, rej.code)
			require.ErrorIs(t, f.next(d, nic.EventError).Conn.Err, c.err)
			require.True(t, f.answerTo(fd).end)
			require.Zero(t, d.Stats().Conns)
		})
	}
	f.none(d, nic.EventConnectRequest)
	require.Equal(t, uint64(2), d.Stats().WrongVersion)
	require.Equal(t, uint64(20), d.Stats().Malformed)

	fd := dialRaw(t, d, uid)
	require.NoError(t, sendRecord(fd, good, all...))
	f.next(d, nic.EventConnectRequest)
}

// TestVersionMismatchOnTheClient answers a hello with another version.
func TestVersionMismatchOnTheClient(t *testing.T) {
	for _, answer := range [][]byte{
		reject{code: codeVersion}.append(nil),
		append([]byte{'V', 'S', 'H', 'M', 9, 0, byte(kindReject), 0}, make([]byte, 40)...),
	} {
		dir := t.TempDir()
		a := openDevice(t, dir, "")
		f := newFixture(t, a)
		l, err := a.dir.listen("server", 0o600)
		require.NoError(t, err)
		p := openPort(t, a, reliable())
		require.NoError(t, p.Connect("server", nil, 0))
		fd, _, err := unix.Accept4(l, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		require.NoError(t, err)
		r := f.answerTo(fd)
		require.Len(t, r.fds, helloFDs)
		r.closeFDs()
		require.NoError(t, sendRecord(fd, answer))
		require.ErrorIs(t, f.next(a, nic.EventConnectFailed).Conn.Err, nic.ErrVersion)
		closeFD(fd)
		closeFD(l)
	}
}

func TestHostileAnswers(t *testing.T) {
	ok := newParts(t)
	good := accept{addr: "server"}.append(nil)
	for _, c := range []struct {
		what string
		data []byte
		fds  []int
	}{
		{"garbage", []byte("hello?"), nil},
		{"confirm instead", confirm{}.append(nil), nil},
		{"accept with too many descriptors", good, []int{ok.table, ok.table}},
		{"accept with the wrong descriptor", good, []int{ok.bell1}},
		{"accept under another name", accept{addr: "other"}.append(nil), []int{ok.table}},
		{"accept cut short", good[:len(good)-1], []int{ok.table}},
		{"reject cut short", reject{reason: []byte("abc")}.append(nil)[:17], nil},
	} {
		t.Run(c.what, func(t *testing.T) {
			a := openDevice(t, t.TempDir(), "")
			f := newFixture(t, a)
			l, err := a.dir.listen("server", 0o600)
			require.NoError(t, err)
			defer closeFD(l)
			require.NoError(t, openPort(t, a, reliable()).Connect("server", nil, 0))
			fd, _, err := unix.Accept4(l, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
			require.NoError(t, err)
			defer closeFD(fd)
			r := f.answerTo(fd)
			r.closeFDs()
			require.NoError(t, sendRecord(fd, c.data, c.fds...))
			require.ErrorIs(t, f.next(a, nic.EventConnectFailed).Conn.Err, nic.ErrProtocol)
			require.NotZero(t, a.Stats().ProtocolErrors)
			require.Zero(t, a.Stats().Conns)
		})
	}
}

// TestSilentClients fills the server with silent sockets: other clients can still
// connect, and the silent ones are dropped in time.
func TestSilentClients(t *testing.T) {
	dir := t.TempDir()
	a, b := openDevice(t, dir, ""), openDevice(t, dir, "b")
	now := time.Duration(0)
	b.clock = func() time.Duration { return now }
	f := newFixture(t, a, b)
	for range 2 * greetingsMax {
		dialRaw(t, b)
		f.poll()
	}
	f.connect(openPort(t, a, reliable()), openPort(t, b, reliable()))
	require.LessOrEqual(t, b.greetings, greetingsMax)
	start := time.Now()
	for b.greetings > 0 {
		at, ok := b.NextDeadline()
		require.True(t, ok)
		require.LessOrEqual(t, at-now, greetTimeout)
		now = at
		f.poll()
		require.Less(t, time.Since(start), patience)
	}
	require.Equal(t, uint64(2*greetingsMax), b.Stats().HalfOpen)
}

// TestSilentAfterAccept: a client that never confirms is given up.
func TestSilentAfterAccept(t *testing.T) {
	d := openDevice(t, t.TempDir(), "d")
	now := time.Duration(0)
	d.clock = func() time.Duration { return now }
	f := newFixture(t, d)
	ok := newParts(t)
	fd := dialRaw(t, d)
	require.NoError(t, sendRecord(fd, hello{addr: "~1.1"}.append(nil), ok.segment, ok.bell1, ok.bell2, ok.table))
	p := openPort(t, d, reliable())
	require.NoError(t, p.PostRecv(recvLoan()))
	require.NoError(t, d.Accept(f.next(d, nic.EventConnectRequest).Conn.Request, p))
	_, err := p.PostSend(send(nil))
	require.ErrorIs(t, err, nic.ErrNotConnected)
	now = greetTimeout
	require.ErrorIs(t, f.next(d, nic.EventDisconnected).Conn.Err, nic.ErrTimeout)
	require.Equal(t, nic.StatusFlushed, f.next(d, nic.EventRecv).Desc.Status)
}

func TestTooManyRequests(t *testing.T) {
	d := openDevice(t, t.TempDir(), "d")
	f := newFixture(t, d)
	ok := newParts(t)
	for range requestsMax {
		fd := dialRaw(t, d)
		require.NoError(t, sendRecord(fd, hello{addr: "~1.1"}.append(nil), ok.segment, ok.bell1, ok.bell2, ok.table))
		f.next(d, nic.EventConnectRequest)
	}
	fd := dialRaw(t, d)
	require.NoError(t, sendRecord(fd, hello{addr: "~1.1"}.append(nil), ok.segment, ok.bell1, ok.bell2, ok.table))
	r := f.answerTo(fd)
	rej, err := parseReject(r.data)
	require.NoError(t, err)
	require.Equal(t, codeBusy, rej.code)
}
