//go:build linux

package kernel

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram"
)

const smallBytes = 64

// side is one end of a conversation.
type side struct {
	s    *socket
	out  []dgram.Packet
	in   []dgram.Arrival
	rest func(*side) // what it does while nothing has arrived
}

// sides are two sockets of two devices.
func sides(b testing.TB, o Options, at func(*side), pieces int) (x, y *side) {
	x = &side{s: bound(b, open(b, o), loopback4), in: room(4), rest: at}
	y = &side{s: bound(b, open(b, o), loopback4), in: room(4), rest: at}
	for _, e := range [][2]*side{{x, y}, {y, x}} {
		p := dgram.Packet{To: e[1].s.Addr()}
		for i := range pieces {
			p.Pieces = append(p.Pieces, make([]byte, smallBytes/pieces+i%2))
		}
		e[0].out = []dgram.Packet{p}
	}
	return x, y
}

func spin(*side) {}

func park(x *side) {
	if x.s.d.Arm() {
		x.s.d.Sleep(-1)
	}
	x.s.d.Disarm()
}

func (x *side) wait() {
	for x.s.Recv(x.in) == 0 {
		x.rest(x)
	}
}

func (x *side) answer() {
	x.wait()
	_, _ = x.s.Send(x.out)
}

func (x *side) call() {
	_, _ = x.s.Send(x.out)
	x.wait()
}

// pingPong reports half of a round trip.
func pingPong(b *testing.B, call, answer func()) {
	done := make(chan struct{})
	n := b.N
	go func() {
		defer close(done)
		for range n {
			answer()
		}
	}()
	b.ReportAllocs()
	for range n {
		call()
	}
	<-done
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(2*n), "ns/half")
}

func BenchmarkPingPong(b *testing.B) {
	for _, c := range []struct {
		name   string
		o      Options
		rest   func(*side)
		pieces int
		joins  bool
	}{
		{"spinning", Options{}, spin, 1, false},
		{"spinning, 3 pieces", Options{}, spin, 3, false},
		{"spinning, GRO", Options{}, spin, 1, true},
		{"asleep", Options{}, park, 1, false},
	} {
		b.Run(c.name, func(b *testing.B) {
			x, y := sides(b, c.o, c.rest, c.pieces)
			if c.joins {
				x.s.join()
				y.s.join()
			}
			pingPong(b, x.call, y.answer)
		})
	}
	b.Run("bare connected sockets", func(b *testing.B) {
		x, y := bare(b)
		pingPong(b, func() { x.send(); x.recv() }, func() { y.recv(); y.send() })
	})
}

// BenchmarkHop sends a packet and receives it in one goroutine: the cost of a hop
// without waiting, which is comparable even on a busy machine.
func BenchmarkHop(b *testing.B) {
	for _, c := range []struct {
		name   string
		pieces int
		joins  bool
	}{{"1 piece", 1, false}, {"3 pieces", 3, false}, {"GRO", 1, true}} {
		b.Run(c.name, func(b *testing.B) {
			x, y := sides(b, Options{}, spin, c.pieces)
			if c.joins {
				y.s.join()
			}
			b.ReportAllocs()
			for b.Loop() {
				_, _ = x.s.Send(x.out)
				y.wait()
				y.s.streak = 0 // as if it had been polled in vain
			}
		})
	}
	b.Run("bare connected sockets", func(b *testing.B) {
		x, y := bare(b)
		for b.Loop() {
			x.send()
			y.recv()
		}
	})
}

// plain is a socket that knows only one other: the minimum cost of a ping-pong.
type plain struct {
	fd  int
	buf [smallBytes]byte
}

func (p *plain) send() {
	unix.RawSyscall6(unix.SYS_SENDTO, uintptr(p.fd), uintptr(unsafe.Pointer(&p.buf)), smallBytes, 0, 0, 0)
}

func (p *plain) recv() {
	for {
		n, _, _ := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(p.fd), uintptr(unsafe.Pointer(&p.buf)), smallBytes, 0, 0, 0)
		if int(n) == smallBytes {
			return
		}
	}
}

func bare(b *testing.B) (x, y *plain) {
	x, y = &plain{}, &plain{}
	var names [2]unix.Sockaddr
	for i, p := range []*plain{x, y} {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
		require.NoError(b, err)
		p.fd = fd
		b.Cleanup(func() { _ = unix.Close(fd) })
		require.NoError(b, unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
		names[i], err = unix.Getsockname(fd)
		require.NoError(b, err)
	}
	require.NoError(b, unix.Connect(x.fd, names[1]))
	require.NoError(b, unix.Connect(y.fd, names[0]))
	return x, y
}

// BenchmarkRecvNothing is the cost per socket for a spinning caller.
func BenchmarkRecvNothing(b *testing.B) {
	x, _ := sides(b, Options{}, spin, 1)
	for b.Loop() {
		x.s.Recv(x.in)
	}
}

// BenchmarkStream moves 1 MiB at a time in packets of a size for Ethernet, or for
// loopback, each with a header and data.
func BenchmarkStream(b *testing.B) {
	for _, c := range []struct {
		name  string
		o     Options
		bytes int
	}{
		{"1472, groups", Options{}, 1472},
		{"8972, groups", Options{}, 8972},
		{"65400", Options{}, 65400},
		{"1472, alone", Options{NoGSO: true, NoGRO: true}, 1472},
		{"8972, alone", Options{NoGSO: true, NoGRO: true}, 8972},
	} {
		b.Run(c.name, func(b *testing.B) { stream(b, c.o, c.bytes) })
	}
}

func stream(b *testing.B, o Options, bytes int) {
	const headerBytes, streamBytes = 40, 1 << 20
	x, y := sides(b, o, spin, 1)
	x.in, y.in = room(16), room(16)
	header, data := make([]byte, headerBytes), make([]byte, bytes-headerBytes)
	var batch []dgram.Packet
	for range streamBytes / bytes {
		batch = append(batch, dgram.Packet{To: y.s.Addr(), Pieces: [][]byte{header, data}})
	}
	b.SetBytes(int64(bytes * len(batch)))
	b.ReportAllocs()
	for b.Loop() {
		for todo := batch; len(todo) > 0; {
			n, _ := x.s.Send(todo[:min(len(todo), 256)])
			todo = todo[n:]
			for y.s.Recv(y.in) > 0 {
				continue
			}
		}
	}
	b.StopTimer()
	sent, got := x.s.Stats(), y.s.Stats()
	b.ReportMetric(float64(sent.Sent)/float64(sent.SendCalls), "packets/send")
	b.ReportMetric(float64(got.Received)/float64(got.RecvCalls), "packets/recv")
	b.ReportMetric(float64(got.Overflowed), "lost")
}
