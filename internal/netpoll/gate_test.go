//go:build linux

package netpoll

import (
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// doorbell is a gate over an epoll instance that watches a pipe.
type doorbell struct {
	Gate
	read, write int
}

func hang(t *testing.T, events uint32) *doorbell {
	epfd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	require.NoError(t, err)
	var pipe [2]int
	require.NoError(t, unix.Pipe2(pipe[:], unix.O_NONBLOCK|unix.O_CLOEXEC))
	require.Zero(t, Control(epfd, unix.EPOLL_CTL_ADD, pipe[0], &unix.EpollEvent{Events: events}))
	d := &doorbell{read: pipe[0], write: pipe[1]}
	require.NoError(t, d.Open(epfd))
	t.Cleanup(func() {
		d.Close()
		for _, fd := range []int{epfd, pipe[0], pipe[1]} {
			require.NoError(t, unix.Close(fd))
		}
	})
	return d
}

func (d *doorbell) ring(t *testing.T) {
	_, err := unix.Write(d.write, []byte{1})
	require.NoError(t, err)
}

func (d *doorbell) answer(t *testing.T) {
	_, err := unix.Read(d.read, make([]byte, 8))
	require.NoError(t, err)
}

func TestAnEventEndsSleepAndRefusesArm(t *testing.T) {
	d := hang(t, unix.EPOLLIN)
	for range 3 {
		require.True(t, d.Arm())
		d.ring(t)
		d.Sleep(-1)
		d.Disarm()
		require.False(t, d.Arm(), "what is watched by level stays until it is taken")
		d.Disarm()
		d.answer(t)
	}
}

func TestAnEdgeThatWasTakenDoesNotRefuseArm(t *testing.T) {
	d := hang(t, unix.EPOLLIN|unix.EPOLLET)
	d.ring(t)
	require.False(t, d.Arm())
	d.Disarm()
	var events [4]unix.EpollEvent
	require.Equal(t, 1, Events(d.epfd, events[:]))
	require.Zero(t, Events(d.epfd, events[:]))
	require.True(t, d.Arm())
	d.Disarm()
}

func TestSleepEndsInTime(t *testing.T) {
	d := hang(t, unix.EPOLLIN)
	require.True(t, d.Arm())
	before := time.Now()
	d.Sleep(20 * time.Millisecond)
	assert.GreaterOrEqual(t, time.Since(before), 20*time.Millisecond)
	d.Sleep(0)
	d.Disarm()
}

func TestWake(t *testing.T) {
	d := hang(t, unix.EPOLLIN)
	require.True(t, d.Arm())
	d.Wake()
	d.Wake() // two count as one
	d.Sleep(-1)
	before := time.Now()
	d.Sleep(20 * time.Millisecond)
	assert.GreaterOrEqual(t, time.Since(before), 20*time.Millisecond, "a Wake ends one Sleep")
	d.Disarm()
}

// Whichever is first, no Wake is lost. A Sleep that never ends fails the test by
// its deadline.
func TestWakeAgainstSleep(t *testing.T) {
	const rounds = 2000
	d := hang(t, unix.EPOLLIN)
	turns := make(chan struct{})
	var wakers sync.WaitGroup
	wakers.Go(func() {
		for range turns {
			d.Wake()
		}
	})
	for range rounds {
		if d.Arm() {
			turns <- struct{}{}
			d.Sleep(-1)
		}
		d.Disarm()
	}
	close(turns)
	wakers.Wait()
}

func TestCloseEndsASleep(t *testing.T) {
	d := hang(t, unix.EPOLLIN)
	done := make(chan struct{})
	require.True(t, d.Arm())
	go func() {
		defer close(done)
		d.Sleep(-1)
	}()
	d.Close()
	<-done
	assert.False(t, d.Arm())
	d.Disarm()
	d.Wake()
	d.Sleep(-1)
}

func TestNoDescriptorStays(t *testing.T) {
	count := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		require.NoError(t, err)
		return len(list)
	}
	epfd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	require.NoError(t, err)
	defer unix.Close(epfd)
	var first Gate // opens the runtime's own descriptors, which stay
	require.NoError(t, first.Open(epfd))
	first.Close()
	before := count()
	for range 10 {
		var g Gate
		require.NoError(t, g.Open(epfd))
		g.Close()
		require.Error(t, new(Gate).Open(-1))
	}
	assert.Equal(t, before, count())
}

func TestSleepingDoesNotAllocate(t *testing.T) {
	d := hang(t, unix.EPOLLIN)
	one := []byte{1}
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		if d.Arm() {
			_, _ = unix.Write(d.write, one)
			d.Sleep(-1)
		}
		d.Disarm()
		_, _ = unix.Read(d.read, one)
	}))
}
