package shm

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// answer plays the other side of a benchmark on its own thread until stop is set:
// it posts every receive again and, if echo, returns the message.
func answer(p *Port, echo bool, stop *atomic.Bool, done chan<- struct{}) {
	runtime.LockOSThread()
	defer close(done)
	var out [64]nic.Event
	reply := send(make([]byte, 8))
	for !stop.Load() {
		n := p.dev.Poll(out[:])
		for i := range out[:n] {
			if out[i].Kind != nic.EventRecv || out[i].Desc.Status != nic.StatusSuccess {
				continue
			}
			_ = p.PostRecv(out[i].Desc)
			if echo {
				_, _ = p.PostSend(reply)
			}
		}
	}
}

func BenchmarkPingPong(b *testing.B) {
	for _, size := range []struct {
		name  string
		bytes int
	}{{"8B", 8}, {"8KiB", 8192}} {
		b.Run(size.name, func(b *testing.B) {
			_, pa, pb := pair(b, reliable())
			for range 32 {
				require.NoError(b, pa.PostRecv(recvLoan()))
				require.NoError(b, pb.PostRecv(recvLoan()))
			}
			var stop atomic.Bool
			done := make(chan struct{})
			go answer(pb, true, &stop, done)
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			ping := send(make([]byte, size.bytes))
			var out [16]nic.Event
			b.ResetTimer()
			for range b.N {
				_, _ = pa.PostSend(ping)
				for pa.dev.Poll(out[:]) == 0 {
				}
				_ = pa.PostRecv(out[0].Desc)
			}
			b.StopTimer()
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(2*b.N), "ns/half-trip")
			stop.Store(true)
			<-done
		})
	}
}

func BenchmarkRate(b *testing.B) {
	_, pa, pb := pair(b, reliable())
	for range 64 {
		require.NoError(b, pb.PostRecv(recvLoan()))
	}
	var stop atomic.Bool
	done := make(chan struct{})
	go answer(pb, false, &stop, done)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	d := send(make([]byte, 8))
	b.ResetTimer()
	for range b.N {
		for pa.conn.sent == atomic.LoadUint64(pa.conn.theirLimit) {
		}
		if _, err := pa.PostSend(d); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "M/s")
	stop.Store(true)
	<-done
}

// BenchmarkBounce is the limit: a cache line that goes to the other core and
// back.
func BenchmarkBounce(b *testing.B) {
	var lines struct {
		_    [128]byte
		ping atomic.Uint64
		_    [120]byte
		pong atomic.Uint64
		_    [120]byte
	}
	done := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer close(done)
		for i := uint64(1); i <= uint64(b.N); i++ {
			for lines.ping.Load() != i {
			}
			lines.pong.Store(i)
		}
	}()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for i := uint64(1); i <= uint64(b.N); i++ {
		lines.ping.Store(i)
		for lines.pong.Load() != i {
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(2*b.N), "ns/half-trip")
	<-done
}

// BenchmarkPath is the cost of the code alone: both sides are on one core, so
// that no cache line moves.
func BenchmarkPath(b *testing.B) {
	_, pa, pb := pair(b, reliable())
	d, msg := recvLoan(), send(make([]byte, 8))
	var out [16]nic.Event
	for range b.N {
		_ = pb.PostRecv(d)
		_, _ = pa.PostSend(msg)
		for pb.dev.Poll(out[:]) == 0 {
		}
	}
}

// BenchmarkEmptyPoll is a Poll that finds nothing on one connection.
func BenchmarkEmptyPoll(b *testing.B) {
	_, pa, _ := pair(b, reliable())
	var out [16]nic.Event
	for range b.N {
		pa.dev.Poll(out[:])
		pa.conn.idleLooks = 0
	}
}

func BenchmarkRDMA(b *testing.B) {
	_, pa, pb := pair(b, reliable())
	for _, size := range []int{4 << 10, 64 << 10, 1 << 20} {
		theirs, err := pb.dev.Alloc(size, false)
		require.NoError(b, err)
		ours, err := pa.dev.Alloc(size, false)
		require.NoError(b, err)
		h, err := pb.dev.Register(theirs, nic.AccessRemoteRead|nic.AccessRemoteWrite, 7)
		require.NoError(b, err)
		for name, op := range map[string]nic.Op{"write": nic.OpRDMAWrite, "read": nic.OpRDMARead} {
			b.Run(fmt.Sprintf("%s/%dKiB", name, size>>10), func(b *testing.B) {
				b.SetBytes(int64(size))
				d := rdmaDesc(op, remoteOf(theirs, 0, h), ours)
				var out [1]nic.Event
				for range b.N {
					if done, _ := pa.PostSend(d); !done {
						for pa.dev.Poll(out[:]) == 0 {
						}
					}
				}
			})
		}
	}
}

// BenchmarkSleeping is a ping-pong of two sides that never spin: each sleeps
// until the other's message wakes it.
func BenchmarkSleeping(b *testing.B) {
	_, pa, pb := pair(b, reliable())
	play := func(p *Port, first bool) {
		var out [4]nic.Event
		msg := send(make([]byte, 8))
		if first {
			_, _ = p.PostSend(msg)
		}
		for got := 0; got < b.N; {
			n := p.dev.Poll(out[:])
			for i := range out[:n] {
				if out[i].Kind == nic.EventRecv {
					got++
					_ = p.PostRecv(out[i].Desc)
					if !first || got < b.N {
						_, _ = p.PostSend(msg)
					}
				}
			}
			if n == 0 && p.dev.Arm() {
				p.dev.Sleep(-1)
				p.dev.Disarm()
			}
		}
	}
	for range 4 {
		require.NoError(b, pa.PostRecv(recvLoan()))
		require.NoError(b, pb.PostRecv(recvLoan()))
	}
	done := make(chan struct{})
	b.ResetTimer()
	go func() {
		play(pb, false)
		close(done)
	}()
	play(pa, true)
	<-done
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(2*b.N), "ns/half-trip")
}

// BenchmarkPipe is for comparison with BenchmarkSleeping.
func BenchmarkPipe(b *testing.B) {
	var there, back [2]int
	require.NoError(b, unix.Pipe2(there[:], unix.O_CLOEXEC))
	require.NoError(b, unix.Pipe2(back[:], unix.O_CLOEXEC))
	done := make(chan struct{})
	go func() {
		defer close(done)
		var buf [8]byte
		for range b.N {
			_, _ = unix.Read(there[0], buf[:])
			_, _ = unix.Write(back[1], buf[:])
		}
	}()
	var buf [8]byte
	for range b.N {
		_, _ = unix.Write(there[1], buf[:])
		_, _ = unix.Read(back[0], buf[:])
	}
	<-done
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(2*b.N), "ns/half-trip")
	for _, fd := range []int{there[0], there[1], back[0], back[1]} {
		closeFD(fd)
	}
}
