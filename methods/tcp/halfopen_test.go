package tcp_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/need"
	"github.com/viaduct-hpc/viaduct/internal/netns"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
	"github.com/viaduct-hpc/viaduct/methods/tcp"
)

// A half-open connection is one whose other side has gone without telling: its machine
// stopped, or a cable was cut. Here, the other side is a process on a separate host
// (internal/netns).

// farVariable makes the test binary the far side. It holds the address on which that
// listens.
const farVariable = "VIADUCT_TCP_FAR"

// far executes commands on its standard input: each line is the address of an endpoint to
// greet. A greeting may fail, because the command is repeated.
func far(listen string) error {
	n, err := farNode(listen)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); fmt.Println("done") {
		to, err := n.ep.Lookup(in.Text())
		if err != nil {
			return err
		}
		_, _ = n.c.PostSendUnexpected(to, 0, 0, []byte("hello"), 0)
	}
	return nil // the kernel closes what is open
}

func farNode(listen string) (*node, error) {
	e, err := bmi.Open(context.Background(), bmi.Config{Listen: []string{listen}})
	if err != nil {
		return nil, err
	}
	c, err := e.OpenContext()
	return &node{ep: e, c: c}, err
}

// A cable leads to a far side.
type cable struct {
	t       *testing.T
	host    *netns.Host // of the far side
	in      io.Writer
	out     *bufio.Reader
	address string // where the far side listens
	near    string // an address of this side
}

// newCable makes one, or skips the test.
func newCable(t *testing.T) *cable {
	t.Helper()
	hosts := netns.New(t, netns.Options{Here: true}).Hosts
	w := &cable{t: t, host: hosts[1], address: fmt.Sprintf("tcp://%s:7777", hosts[1].Addr), near: hosts[0].Addr.String()}
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), farVariable+"="+w.address)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, w.host.Start(cmd))
	t.Cleanup(func() {
		_ = in.Close()
		require.NoError(t, cmd.Wait())
	})
	w.in, w.out = in, bufio.NewReader(out)
	w.says("ready")
	return w
}

func (w *cable) says(want string) {
	w.t.Helper()
	line, err := w.out.ReadString('\n')
	require.NoError(w.t, err)
	require.Equal(w.t, want+"\n", line)
}

// plug mends or cuts the cable.
func (w *cable) plug(in bool) {
	w.t.Helper()
	require.NoError(w.t, w.host.SetUp(in))
}

// lasting are options that make a dead peer noticed within seconds.
var lasting = tcp.Options{KeepAlive: time.Second, UserTimeout: 2 * time.Second, ConnectTimeout: time.Second}

// noticedMax is the longest time until that.
const noticedMax = 15 * time.Second

// TestHalfOpen cuts the cable. Every operation must end with an error in bounded time, on
// connections of either direction, with and without something to send. Other peers are not
// affected, and once the cable is mended the peer is reached again.
func TestHalfOpen(t *testing.T) {
	need.Soak(t, "takes several seconds")
	w := newCable(t)
	near := fmt.Sprintf("tcp://%s:7778", w.near)
	local := freshAddress()
	n, other := openNode(t, lasting, near, local), openNode(t, tcp.Options{})
	toLocal := other.lookup(local)
	toOther := greet(other, n, toLocal)
	toFar := n.lookup(w.address)
	reached := func() {
		t.Helper()
		n.until("the far side is reached", func() bool {
			return n.wait(n.sendUnexpected(toFar, 0, []byte("hello")), other).Err == nil
		})
	}
	reached()

	for _, c := range []struct {
		name    string
		connect func() bmi.Addr
		sends   bool
	}{
		{"idle, we connected", func() bmi.Addr { return toFar }, false},
		{"idle, it connected", func() bmi.Addr { return w.accepted(n, near) }, false},
		{"sending, we connected", func() bmi.Addr { return toFar }, true},
		{"sending, it connected", func() bmi.Addr { return w.accepted(n, near) }, true},
	} {
		peer := c.connect()
		require.NoError(t, n.wait(n.sendUnexpected(peer, 0, []byte("hello"))).Err, c.name)
		w.plug(false)
		cut := time.Now()
		ids := []int{n.recv(peer, 1, make([]byte, 10)), n.recv(peer, 2, make([]byte, 1<<20))}
		if c.sends {
			for range 3 { // more than the kernel takes
				ids = append(ids, n.send(peer, 3, make([]byte, 16<<20)))
			}
		}
		var why error
		for _, id := range ids {
			why = n.wait(id, other).Err
			require.ErrorIs(t, why, bmi.ErrPeerFailed, "%s: operation %d", c.name, id)
		}
		took := time.Since(cut)
		wallclock.Under(t, took, noticedMax, c.name)
		require.Error(t, n.ep.CheckAddr(peer))
		t.Logf("%s: noticed after %v: %v", c.name, took.Round(time.Millisecond), why)
		exchange(other, n, toLocal, toOther, 5, 1000)

		require.NoError(t, n.ep.DropAddr(toFar))
		toFar = n.lookup(w.address)
		began := time.Now()
		done := n.wait(n.sendUnexpected(toFar, 0, []byte("hello")), other)
		require.ErrorIs(t, done.Err, bmi.ErrUnreachable)
		took = time.Since(began)
		wallclock.Under(t, took, noticedMax, "connecting in vain")
		t.Logf("connecting in vain took %v: %v", took.Round(time.Millisecond), done.Err)

		w.plug(true)
		reached()
	}
}

// accepted makes the far side connect, on a new connection.
func (w *cable) accepted(n *node, near string) (from bmi.Addr) {
	w.t.Helper()
	n.taken = func(u *bmi.Unexpected) { from = u.From }
	ask := func() {
		_, err := fmt.Fprintln(w.in, near)
		require.NoError(w.t, err)
		w.says("done")
	}
	ask()
	again := time.NewTicker(time.Second)
	defer again.Stop()
	n.until("a greeting from the far side", func() bool {
		select {
		case <-again.C: // the greeting may have been sent over a connection that it did not know to be dead
			ask()
		default:
		}
		return !from.IsZero()
	})
	n.taken = nil
	return from
}

// TestHalfOpenRestarted has a peer whose machine stopped and has restarted: it answers
// packets with a reset.
func TestHalfOpenRestarted(t *testing.T) {
	l, address := listenRaw(t, "127.0.0.1")
	n := openNode(t, tcp.Options{KeepAlive: lasting.KeepAlive})
	peer := n.lookup(address)
	for _, sends := range []bool{true, false} {
		hello := n.sendUnexpected(peer, 0, []byte("hello"))
		conn, err := l.AcceptTCP()
		require.NoError(t, err)
		require.NoError(t, n.wait(hello).Err)
		_, err = io.ReadFull(conn, make([]byte, 24+5))
		require.NoError(t, err)
		waiting := n.recv(peer, 1, make([]byte, 10))
		vanish(t, conn)
		gone := time.Now()
		if sends {
			n.send(peer, 2, make([]byte, 10))
		}
		done := n.wait(waiting)
		require.ErrorIs(t, done.Err, bmi.ErrPeerFailed)
		took := time.Since(gone)
		wallclock.Under(t, took, noticedMax, "to notice it")
		t.Logf("sends=%v: noticed after %v: %v", sends, took.Round(time.Millisecond), done.Err)
	}
}

// vanish closes a socket without telling the other side, or skips the test.
func vanish(t *testing.T, conn syscall.Conn) {
	t.Helper()
	raw, err := conn.SyscallConn()
	require.NoError(t, err)
	var no error
	require.NoError(t, raw.Control(func(fd uintptr) {
		no = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_REPAIR, 1)
	}))
	if errors.Is(no, unix.EPERM) {
		need.Unless(t, need.Root, fmt.Errorf("a socket may not be taken away silently (TCP_REPAIR): %w", no))
	}
	require.NoError(t, no)
	require.NoError(t, conn.(io.Closer).Close())
}
