package shm

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/wallclock"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// reaction bounds how long a death may go unnoticed, in the soak tier: a second, and
// more for tests that share their cores.
const reaction = 3 * time.Second

// serve plays the echo role in this process until stop reports true. It returns the
// events of connections that ended.
func (f *fixture) serve(d *Device, where string, stop func() bool) (ends []nic.Event) {
	f.t.Helper()
	var out [32]nic.Event
	for start := time.Now(); !stop(); {
		require.Less(f.t, time.Since(start), patience)
		n := d.Poll(out[:])
		for i := range out[:n] {
			if out[i].Kind == nic.EventDisconnected {
				ends = append(ends, out[i])
			}
			require.NoError(f.t, echoEvent(d, &out[i], where))
		}
		if n == 0 {
			runtime.Gosched()
		}
	}
	return ends
}

func TestEchoBetweenProcesses(t *testing.T) {
	dir := t.TempDir()
	server := startChild(t, "echo", dir)
	a := openDevice(t, dir, "")
	f := newFixture(t, a)
	p := openPort(t, a, reliable())
	for range 4 {
		require.NoError(t, p.PostRecv(recvLoan()))
	}
	require.NoError(t, p.Connect("server", nil, 0))
	f.next(a, nic.EventConnected)
	first := f.next(a, nic.EventRecv).Desc
	var remote nic.Remote
	_, err := fmt.Sscan(string(first.Data), &remote.Addr, &remote.Handle)
	require.NoError(t, err)
	require.NoError(t, p.PostRecv(first))
	for i := range 2000 {
		n := i * 13 % MTUBytes
		mustSend(t, p, pattern(n, byte(i)))
		d := f.next(a, nic.EventRecv).Desc
		require.Equal(t, pattern(n, byte(i)), d.Data)
		require.NoError(t, p.PostRecv(d))
	}
	require.True(t, p.RDMAUsable(), "process_vm_readv between parent and child should be permitted here")
	src, back := pattern(1<<20, 4), make([]byte, 1<<20)
	require.Equal(t, nic.StatusSuccess, f.rdma(p, rdmaDesc(nic.OpRDMAWrite, remote, src)))
	require.Equal(t, nic.StatusSuccess, f.rdma(p, rdmaDesc(nic.OpRDMARead, remote, back)))
	require.Equal(t, src, back)
	p.Disconnect()
	require.NoError(t, f.next(a, nic.EventDisconnected).Conn.Err)
	server.finish(t)
}

// TestKilledClients kills a client in the middle of its traffic, many times;
// the server has to notice each one and to serve the next.
func TestKilledClients(t *testing.T) {
	rng := newRand(t)
	dir := t.TempDir()
	d := openDevice(t, dir, "server")
	f := newFixture(t, d)
	window := make([]byte, 1<<20)
	for range kills() {
		// Clients die in the middle of writing to this, too.
		h, err := d.Register(window, nic.AccessRemoteWrite, 7)
		require.NoError(t, err)
		where := fmt.Sprintf("%d %d", remoteOf(window, 0, h).Addr, h)
		opened := make(chan *child, 1)
		go func() { opened <- startChild(t, "client", dir) }()
		var c *child
		f.serve(d, where, func() bool {
			select {
			case c = <-opened:
				return true
			default:
				return false
			}
		})
		until := time.Now().Add(time.Duration(rng.IntN(3000)) * time.Microsecond)
		ends := f.serve(d, where, func() bool { return time.Now().After(until) })
		require.Empty(t, ends)
		name := fmt.Sprintf("%s/client-%d", dir, c.cmd.Process.Pid)
		require.FileExists(t, name)
		c.kill()
		killed := time.Now()
		f.serve(d, where, func() bool { return d.Stats().Conns == 0 })
		wallclock.Under(t, time.Since(killed), reaction, "to notice the death")
		f.serve(d, where, func() bool { _, err := os.Stat(name); return os.IsNotExist(err) })
		require.NoError(t, d.Deregister(h))
	}
	require.Equal(t, uint64(kills()), d.Stats().PeersDied)
	require.Zero(t, d.Stats().ProtocolErrors)
}

// TestKilledServers kills the server under a client: every descriptor comes
// back, the socket file goes away, and the next server can be reached.
func TestKilledServers(t *testing.T) {
	rng := newRand(t)
	dir := t.TempDir()
	a := openDevice(t, dir, "")
	for range kills() {
		server := startChild(t, "echo", dir)
		f := newFixture(t, a)
		p := openPort(t, a, reliable())
		for range 16 {
			require.NoError(t, p.PostRecv(recvLoan()))
		}
		require.NoError(t, p.Connect("server", nil, 0))
		f.next(a, nic.EventConnected)
		until := time.Now().Add(time.Duration(rng.IntN(3000)) * time.Microsecond)
		killed := time.Time{}
		posted, msg := 16, send(pattern(1000, 0))
		mustSend(t, p, nil)
		for dead := false; !dead; {
			if killed.IsZero() && time.Now().After(until) {
				require.NoError(t, server.cmd.Process.Signal(syscall.SIGKILL))
				killed = time.Now()
			}
			f.poll()
			for _, e := range f.seen[a] {
				switch {
				case e.Kind == nic.EventDisconnected:
					require.ErrorIs(t, e.Conn.Err, nic.ErrPeerDied)
					dead = true
				case e.Kind == nic.EventRecv && e.Desc.Status == nic.StatusSuccess:
					if p.PostRecv(e.Desc) != nil {
						posted--
						continue
					}
					if p.conn.state == connOpen {
						done, err := p.PostSend(msg)
						require.NoError(t, err)
						require.True(t, done)
					}
				case e.Kind == nic.EventRecv:
					require.Equal(t, nic.StatusFlushed, e.Desc.Status)
					posted--
				}
			}
			f.seen[a] = nil
			require.Less(t, time.Since(until), patience)
		}
		wallclock.Under(t, time.Since(killed), reaction, "to notice the death")
		require.Zero(t, posted, "receives that never came back")
		require.NoError(t, p.Close())
		require.Eventually(t, func() bool {
			f.poll()
			_, err := os.Stat(dir + "/server")
			return os.IsNotExist(err)
		}, wallclock.Patience, time.Millisecond, "the dead server's socket file stays behind")
		server.kill()
	}
}
