//go:build linux

package kernel

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram"
)

func TestAnArrivalAtAnySocketEndsSleep(t *testing.T) {
	d := open(t, Options{})
	from := bound(t, open(t, Options{}), loopback4)
	var all []*socket
	for range 10 {
		all = append(all, bound(t, d, loopback4))
	}
	batch := room(1)
	for i, s := range all {
		require.True(t, d.Arm())
		send(t, from, packet(s.Addr(), 10, byte(i)))
		d.Sleep(-1)
		d.Disarm()
		require.False(t, d.Arm(), "it was not received yet")
		d.Disarm()
		require.Equal(t, 1, s.Recv(batch))
	}
	require.True(t, d.Arm(), "all was received")
	d.Disarm()
}

func TestWakeAndTimeout(t *testing.T) {
	a, _ := two(t, Options{})
	require.True(t, a.d.Arm())
	a.d.Wake()
	a.d.Sleep(-1)
	before := time.Now()
	a.d.Sleep(20 * time.Millisecond)
	assert.GreaterOrEqual(t, time.Since(before), 20*time.Millisecond)
	a.d.Disarm()
}

// Sleepers lose neither an arrival nor a Wake, whenever it comes. A loss fails the
// test at its deadline.
func TestSleepAgainstArrivalsAndWakes(t *testing.T) {
	const rounds = 2000
	y := bound(t, open(t, Options{}), loopback4)
	x := bound(t, open(t, Options{}), loopback4)
	var others sync.WaitGroup
	stop := make(chan struct{})
	others.Go(func() { // echoes
		batch := room(1)
		for {
			switch {
			case y.Recv(batch) > 0:
				_, _ = y.Send([]dgram.Packet{{To: batch[0].From, Pieces: [][]byte{batch[0].Buf[:batch[0].Len]}}})
				continue
			case y.d.Arm():
				y.d.Sleep(-1)
			}
			y.d.Disarm()
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	others.Go(func() { // wakes for no reason
		for {
			select {
			case <-stop:
				return
			case <-time.After(100 * time.Microsecond):
				y.d.Wake()
				x.d.Wake()
			}
		}
	})
	batch := room(1)
	for i := range rounds {
		send(t, x, packet(y.Addr(), 8, byte(i)))
		for x.Recv(batch) == 0 {
			if x.d.Arm() {
				x.d.Sleep(-1)
			}
			x.d.Disarm()
		}
		require.Equal(t, byte(i), batch[0].Buf[0])
	}
	close(stop)
	y.d.Wake()
	others.Wait()
}

// Room in a socket that was full ends a Sleep, and does not prevent a later one.
func TestRoomEndsSleep(t *testing.T) {
	x := bound(t, open(t, Options{SendBuffer: 4096}), loopback4)
	x.setFull(true)
	require.False(t, x.d.Arm(), "there is room")
	x.d.Disarm()
	send(t, x, packet(x.Addr(), 1, 1))
	require.Equal(t, 1, x.Recv(room(1)))
	require.True(t, x.d.Arm())
	x.d.Disarm()
}

func TestCloseEndsASleep(t *testing.T) {
	d, err := Open(Options{})
	require.NoError(t, err)
	s := bound(t, d, loopback4)
	done := make(chan struct{})
	require.True(t, d.Arm())
	go func() {
		defer close(done)
		d.Sleep(-1)
	}()
	require.NoError(t, d.Close())
	<-done
	d.Wake()
	d.Sleep(-1)
	assert.False(t, d.Arm())
	d.Disarm()
	require.NoError(t, d.Close())

	assert.Zero(t, s.Recv(room(1)))
	n, err := s.Send([]dgram.Packet{packet(s.Addr(), 1, 1)})
	assert.Zero(t, n)
	require.ErrorIs(t, err, dgram.ErrClosed)
	assert.Equal(t, dgram.PayloadMin, s.PathMTU(s.Addr()))
	assert.Zero(t, s.Stats())
	require.NoError(t, s.Close())
	_, err = d.Open(loopback4)
	require.ErrorIs(t, err, dgram.ErrClosed)
}

// A socket that was closed with unread packets does not keep others from sleeping.
func TestClosedSocketsAreSilent(t *testing.T) {
	a, b := two(t, Options{})
	send(t, a, packet(b.Addr(), 10, 1))
	require.False(t, a.d.Arm())
	a.d.Disarm()
	require.NoError(t, b.Close())
	require.True(t, a.d.Arm())
	a.d.Disarm()
	require.NoError(t, b.Close())
	assert.Same(t, a, a.d.first)
	assert.Nil(t, a.next)
}

// A socket is watched from the first Arm on, and no longer once its owner has polled
// for long, but always while a goroutine sleeps.
func TestWatchedWhileSomebodySleeps(t *testing.T) {
	d := open(t, Options{})
	a, b := bound(t, d, loopback4), bound(t, d, loopback4)
	poll := func(count int) {
		for i := range count {
			send(t, b, packet(a.Addr(), 10, byte(i)))
			receive(t, a, 1)
		}
	}
	assert.False(t, a.watched || b.watched)
	require.True(t, d.Arm())
	require.True(t, a.watched && b.watched)
	poll(2 * watchIdle)
	require.True(t, a.watched, "somebody may be asleep")
	c := bound(t, d, loopback4)
	require.True(t, c.watched)
	send(t, b, packet(c.Addr(), 1, 1))
	d.Sleep(-1)
	d.Disarm()
	receive(t, c, 1)
	require.True(t, d.Arm())
	d.Disarm()
	poll(watchIdle - 1)
	require.True(t, a.watched, "counted from the last Arm")
	poll(1)
	require.False(t, a.watched)
	require.True(t, b.watched)
	assert.Equal(t, 1, d.watch.idle)
	send(t, b, packet(a.Addr(), 1, 1))
	require.False(t, d.Arm(), "it was there before")
	d.Disarm()
	require.NoError(t, c.Close())
	require.NoError(t, a.Close())
	assert.Zero(t, d.watch.idle)
}
