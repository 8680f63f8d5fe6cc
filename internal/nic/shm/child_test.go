package shm

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// Children are this test binary again, in different roles.
const (
	childEnv = "VIADUCT_TEST_CHILD"
	childDir = "VIADUCT_TEST_DIR"
)

var killsFlag = flag.Int("kills", 0, "how often the crash tests kill a process (0: 30, or 8 with -short)")

// kills is how often a child is killed.
func kills() int {
	switch {
	case *killsFlag != 0:
		return *killsFlag / 2
	case testing.Short():
		return 4
	}
	return 15
}

// child is a process of ours with a role.
type child struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	out   *bufio.Reader
	err   *bytes.Buffer
}

// startChild starts a role and waits until it says that it is ready.
func startChild(t testing.TB, role, dir string, change ...func(*exec.Cmd)) *child {
	t.Helper()
	c := newChild(t, role, dir, change...)
	require.Equal(t, "ready\n", c.line(t))
	return c
}

// newChild starts a role.
func newChild(t testing.TB, role, dir string, change ...func(*exec.Cmd)) *child {
	t.Helper()
	c := &child{cmd: exec.Command(os.Args[0]), err: new(bytes.Buffer)}
	c.cmd.Env = append(os.Environ(), childEnv+"="+role, childDir+"="+dir)
	c.cmd.Stderr = c.err
	for _, f := range change {
		f(c.cmd)
	}
	stdin, err := c.cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := c.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.cmd.Start())
	c.stdin, c.out = stdin, bufio.NewReader(stdout)
	t.Cleanup(func() { c.kill() })
	return c
}

func (c *child) line(t testing.TB) string {
	t.Helper()
	s, err := c.out.ReadString('\n')
	require.NoError(t, err, "child: %s", c.err)
	return s
}

// kill ends the process at once and waits for it.
func (c *child) kill() {
	if c.cmd.ProcessState == nil {
		_ = c.cmd.Process.Kill()
		_ = c.cmd.Wait()
	}
}

// finish closes its standard input, which makes every role end in an orderly way.
func (c *child) finish(t testing.TB) {
	t.Helper()
	require.NoError(t, c.stdin.Close())
	require.NoError(t, c.cmd.Wait(), "child: %s", c.err)
}

// runChild is main of a child.
func runChild(role string) int {
	roles := map[string]func(dir string) error{
		"echo":     childEcho,
		"client":   childClient,
		"name":     childName,
		"stranger": childStranger,
		"guest":    childGuest,
		"vandal":   childVandal,
		"greedy":   childGreedy,
		"silent":   childSilent,
		"open":     childOpen,
		"opener":   childOpener,
		"taker":    childTaker,
		"exit":     childExit,
	}
	run, ok := roles[role]
	if !ok {
		fmt.Fprintln(os.Stderr, "unknown role", role)
		return 2
	}
	if err := run(os.Getenv(childDir)); err != nil {
		fmt.Fprintln(os.Stderr, role+":", err)
		return 1
	}
	return 0
}

// inputEnd is closed when the parent closes our standard input, or dies.
func inputEnd() <-chan struct{} {
	end := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(end)
	}()
	return end
}

func over(end <-chan struct{}) bool {
	select {
	case <-end:
		return true
	default:
		return false
	}
}

// childName holds a name and does nothing.
func childName(dir string) error {
	d, err := Provider{Dir: dir}.Open(nic.Config{Listen: "server"})
	if err != nil {
		return err
	}
	fmt.Println("ready")
	<-inputEnd()
	return d.Close()
}

// childStranger is another user: it can neither open a device in our directory
// nor get an answer from the server's socket.
func childStranger(dir string) error {
	if _, err := (Provider{Dir: dir}).Open(nic.Config{}); errors.Is(err, os.ErrPermission) {
		fmt.Println("open: permission")
	}
	fd, err := newSocket()
	if err != nil {
		return err
	}
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: dir + "/server"}); err != nil {
		return err
	}
	_, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(patience.Milliseconds()))
	if err != nil {
		return err
	}
	if r, ok := recvRecord(fd); ok && r.end {
		fmt.Println("connect: closed")
	}
	return unix.Close(fd)
}

// childEcho accepts all clients and returns every message. It registers memory
// that clients may use; its first message to each tells where.
func childEcho(dir string) error { return echo(Provider{Dir: dir}) }

func echo(pr Provider) error {
	dev, err := pr.Open(nic.Config{Listen: "server"})
	if err != nil {
		return err
	}
	window := make([]byte, 1<<20)
	h, err := dev.Register(window, nic.AccessRemoteRead|nic.AccessRemoteWrite, 7)
	if err != nil {
		return err
	}
	where := fmt.Sprintf("%d %d", remoteOf(window, 0, h).Addr, h)
	fmt.Println("ready")
	end := inputEnd()
	var out [32]nic.Event
	for idle := 0; !over(end); {
		n := dev.Poll(out[:])
		for i := range out[:n] {
			if err := echoEvent(dev, &out[i], where); err != nil {
				return err
			}
		}
		if idle++; n > 0 {
			idle = 0
		}
		if s := dev.(nic.Sleeper); idle > 2000 && s.Arm() {
			s.Sleep(50 * time.Millisecond)
			s.Disarm()
		}
	}
	return dev.Close()
}

func echoEvent(dev nic.Device, e *nic.Event, where string) error {
	switch e.Kind {
	case nic.EventConnectRequest:
		p, err := dev.OpenPort(reliable(), nil)
		if err != nil {
			return err
		}
		p.(*Port).cookie = p
		for range 16 {
			if err := p.PostRecv(recvLoan()); err != nil {
				return err
			}
		}
		return dev.Accept(e.Conn.Request, p)
	case nic.EventConnected:
		_, err := e.Cookie.(*Port).PostSend(send([]byte(where)))
		return err
	case nic.EventRecv:
		if e.Desc.Status != nic.StatusSuccess {
			return nil
		}
		p := e.Cookie.(*Port)
		if _, err := p.PostSend(send(e.Desc.Data)); err != nil && !errors.Is(err, nic.ErrNotConnected) {
			return err
		}
		if err := p.PostRecv(e.Desc); err != nil {
			return err
		}
	case nic.EventDisconnected:
		return e.Cookie.(*Port).Close()
	}
	return nil
}

// childClient connects to the server and keeps 8 messages of varying size under
// way for ever, with RDMA writes in between.
func childClient(dir string) error {
	dev, err := Provider{Dir: dir}.Open(nic.Config{Listen: fmt.Sprintf("client-%d", os.Getpid())})
	if err != nil {
		return err
	}
	port, err := dev.OpenPort(reliable(), nil)
	if err != nil {
		return err
	}
	for range 16 {
		if err := port.PostRecv(recvLoan()); err != nil {
			return err
		}
	}
	if err := port.Connect("server", []byte("private"), 0); err != nil {
		return err
	}
	end := inputEnd()
	var out [32]nic.Event
	var remote nic.Remote
	big := make([]byte, 1<<20)
	for count := 0; !over(end); {
		n := dev.Poll(out[:])
		for i := range out[:n] {
			switch e := &out[i]; e.Kind {
			case nic.EventConnectFailed, nic.EventDisconnected:
				return fmt.Errorf("connection: %w", e.Conn.Err)
			case nic.EventRecv:
				sends := 1
				if remote.Handle == 0 {
					if _, err := fmt.Sscan(string(e.Desc.Data), &remote.Addr, &remote.Handle); err != nil {
						return fmt.Errorf("first message %q: %w", e.Desc.Data, err)
					}
					sends = 8
					fmt.Println("ready")
				}
				if err := port.PostRecv(e.Desc); err != nil {
					return err
				}
				for range sends {
					count++
					if _, err := port.PostSend(send(pattern(count*37%MTUBytes, 0))); err != nil {
						return err
					}
				}
				if count%64 == 0 {
					if _, err := port.PostSend(rdmaDesc(nic.OpRDMAWrite, remote, big)); err != nil {
						return err
					}
				}
			}
		}
		if n == 0 {
			runtime.Gosched()
		}
	}
	return dev.Close()
}
