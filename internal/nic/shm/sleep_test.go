package shm

import (
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// arm polls until nothing more comes and the device can be armed.
func (f *fixture) arm(d *Device) {
	f.t.Helper()
	for start := time.Now(); time.Since(start) < patience; {
		f.poll()
		if d.Arm() {
			return
		}
	}
	require.FailNow(f.t, "device never armed")
}

// slept runs Sleep on another goroutine and closes the channel at its end.
func slept(d *Device, timeout time.Duration) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		d.Sleep(timeout)
		close(done)
	}()
	return done
}

func ended(t testing.TB, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(patience):
		require.FailNow(t, "Sleep did not end")
	}
}

func TestSleepEndsOnMessage(t *testing.T) {
	f, pa, pb := pair(t, reliable())
	for range 5 {
		require.NoError(t, pb.PostRecv(recvLoan()))
	}
	for i := range 5 {
		f.arm(pb.dev)
		done := slept(pb.dev, -1)
		mustSend(t, pa, pattern(8, byte(i)))
		ended(t, done)
		pb.dev.Disarm()
		require.Equal(t, pattern(8, byte(i)), f.next(pb.dev, nic.EventRecv).Desc.Data)
	}
	require.Equal(t, uint64(5), pa.dev.Stats().DoorbellsRung)
}

func TestArmSeesWhatIsThere(t *testing.T) {
	f, pa, pb := pair(t, reliable())
	require.NoError(t, pb.PostRecv(recvLoan()))
	f.arm(pb.dev)
	pb.dev.Disarm()
	mustSend(t, pa, []byte("x"))
	require.False(t, pb.dev.Arm())
	f.next(pb.dev, nic.EventRecv)
}

func TestSleepEndsOnWakeAndTimeout(t *testing.T) {
	f, _, pb := pair(t, reliable())
	f.arm(pb.dev)
	pb.dev.Wake() // before Sleep: ends the next one
	ended(t, slept(pb.dev, -1))
	done := slept(pb.dev, -1)
	pb.dev.Wake()
	ended(t, done)
	ended(t, slept(pb.dev, time.Millisecond))
	ended(t, slept(pb.dev, 0))
	pb.dev.Disarm()
}

func TestCloseEndsSleep(t *testing.T) {
	f, _, pb := pair(t, reliable())
	f.arm(pb.dev)
	done := slept(pb.dev, -1)
	require.NoError(t, pb.dev.Close())
	ended(t, done)
	pb.dev.Wake()
	pb.dev.Sleep(-1)
}

func TestSleepEndsOnConnectRequest(t *testing.T) {
	dir := t.TempDir()
	b, a := openDevice(t, dir, "b"), openDevice(t, dir, "")
	f := newFixture(t, b)
	f.arm(b)
	done := slept(b, -1)
	require.NoError(t, openPort(t, a, reliable()).Connect("b", nil, 0))
	ended(t, done)
	b.Disarm()
	f.next(b, nic.EventConnectRequest)
}

func TestIdlePortsGoColdAndComeBack(t *testing.T) {
	f, pa, pb := pair(t, reliable())
	require.NoError(t, pb.PostRecv(recvLoan()))
	require.NoError(t, pb.PostRecv(recvLoan()))
	require.NoError(t, pa.PostRecv(recvLoan()))
	start := time.Now()
	for len(pb.dev.hot) > 0 || len(pa.dev.hot) > 0 {
		f.poll()
		require.Less(t, time.Since(start), patience, "ports stay hot for ever")
	}
	mustSend(t, pa, []byte("over a doorbell"))
	require.Len(t, pa.dev.hot, 1, "an answer is likely: the sender should poll")
	require.Equal(t, "over a doorbell", string(f.next(pb.dev, nic.EventRecv).Desc.Data))
	require.Equal(t, uint64(1), pa.dev.Stats().DoorbellsRung)
	require.Equal(t, uint64(1), pb.dev.Stats().DoorbellsHeard)
	mustSend(t, pa, []byte("polled"))
	require.Equal(t, uint64(1), pa.dev.Stats().DoorbellsRung, "rang at a side that polls")
	f.next(pb.dev, nic.EventRecv)
	mustSend(t, pb, []byte("back"))
	f.next(pa.dev, nic.EventRecv)
}

// TestNoWakeUpIsLost has two sides that exchange messages. Each polls for a
// random time and then sleeps without limit: a lost wake-up hangs the test.
func TestNoWakeUpIsLost(t *testing.T) {
	rng := newRand(t)
	_, pa, pb := pair(t, reliable())
	rounds := 20000
	if testing.Short() {
		rounds = 2000
	}
	for range 8 {
		require.NoError(t, pa.PostRecv(recvLoan()))
		require.NoError(t, pb.PostRecv(recvLoan()))
	}
	play := func(p *Port, first bool, rng *rand.Rand, done chan<- int) {
		d := p.dev
		var out [4]nic.Event
		msg := send(make([]byte, 8))
		got := 0
		if first {
			_, _ = p.PostSend(msg)
		}
		for got < rounds {
			for range rng.IntN(20) {
				runtime.Gosched()
			}
			n := d.Poll(out[:])
			for i := range out[:n] {
				if out[i].Kind != nic.EventRecv {
					continue
				}
				got++
				_ = p.PostRecv(out[i].Desc)
				_, _ = p.PostSend(msg)
			}
			if n == 0 && rng.IntN(3) == 0 && d.Arm() {
				for range rng.IntN(20) {
					runtime.Gosched()
				}
				d.Sleep(-1)
				d.Disarm()
			}
		}
		done <- got
	}
	done := make(chan int, 2)
	go play(pa, true, rand.New(rand.NewPCG(rng.Uint64(), 1)), done)
	go play(pb, false, rand.New(rand.NewPCG(rng.Uint64(), 2)), done)
	for range 2 {
		select {
		case <-done:
		case <-time.After(patience):
			require.FailNow(t, "a wake-up was lost")
		}
	}
	require.NotZero(t, pa.dev.Stats().Sleeps)
}

// TestOldDoorbells: after the end of a connection, a holder of its old doorbell
// reaches neither the device nor the connection that took its place.
func TestOldDoorbells(t *testing.T) {
	f, pa, pb := pair(t, reliable())
	old := pb.conn
	tok := old.token(tokenBell)
	event := unix.EpollEvent{Fd: tok.index, Pad: tok.generation<<tokenBits | int32(tokenBell)}
	c, kind := pb.dev.connOf(&event)
	require.Same(t, old, c)
	require.Equal(t, tokenBell, kind)
	bell, err := unix.Dup(pa.conn.bellOut)
	require.NoError(t, err)
	defer closeFD(bell)
	pa.Disconnect()
	f.next(pb.dev, nic.EventDisconnected)
	f.next(pa.dev, nic.EventDisconnected)

	f.connect(pa, pb)
	require.Equal(t, old.index, pb.conn.index, "the place was not taken again, the test proves nothing")
	c, _ = pb.dev.connOf(&event)
	require.Nil(t, c)
	for range 100 {
		f.poll()
	}
	_, err = unix.Write(bell, pa.dev.one[:])
	require.NoError(t, err)
	var events [4]unix.EpollEvent
	n, err := unix.EpollWait(pb.dev.epfd, events[:], 0)
	require.NoError(t, err)
	require.Zero(t, n, "an old doorbell still rings")
}
