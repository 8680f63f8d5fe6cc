package via_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/logtext"
	"github.com/viaduct-hpc/viaduct/internal/need"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
	"github.com/viaduct-hpc/viaduct/methods/via"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

const (
	strangerID = 31337
	// strangerVariable makes this test binary a stranger's program, see strangerMain.
	strangerVariable = "VIADUCT_TEST_STRANGER"
)

// strangers runs this test binary as another user. bin is a copy of it that this user can reach.
type strangers struct{ root, bin string }

func newStrangers(t *testing.T) *strangers {
	t.Helper()
	need.AsRoot(t)
	root, err := os.MkdirTemp("", "viaduct-test-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	require.NoError(t, os.Chmod(root, 0o755))
	data, err := os.ReadFile(os.Args[0])
	require.NoError(t, err)
	s := &strangers{root: root, bin: filepath.Join(root, "test.bin")}
	require.NoError(t, os.WriteFile(s.bin, data, 0o755))
	require.NoError(t, os.Chmod(s.bin, 0o755))
	require.NoError(t, os.Mkdir(filepath.Join(root, "theirs"), 0o700))
	require.NoError(t, os.Chown(filepath.Join(root, "theirs"), strangerID, strangerID))
	t.Setenv("VIADUCT_SHM_DIR", filepath.Join(root, "ours"))
	t.Setenv("VIADUCT_SHM_OPEN_DIR", filepath.Join(root, "open"))
	return s
}

// run starts a program; its output comes when it has ended.
func (s *strangers) run(role string) func() (string, bool) {
	cmd := exec.Command(s.bin, "-test.run=^$")
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), strangerVariable+"="+role, "VIADUCT_SHM_DIR="+filepath.Join(s.root, "theirs"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: strangerID, Gid: strangerID, Groups: []uint32{7}}}
	out := make(chan string, 1)
	go func() {
		text, err := cmd.CombinedOutput()
		out <- fmt.Sprintf("%s%v", text, err)
	}()
	text := ""
	return func() (string, bool) {
		select {
		case text = <-out:
		default:
		}
		return text, text != ""
	}
}

// strangerMain is what a stranger does.
func strangerMain(role string) error {
	ep, err := bmi.Open(context.Background(), bmi.Config{})
	if err != nil {
		return err
	}
	c, err := ep.OpenContext()
	if err != nil {
		return err
	}
	to, err := ep.Lookup("via+shm://server")
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(context.Background(), wallclock.Patience)
	defer stop()
	switch role {
	case "echo":
		if err := c.SendUnexpected(ctx, to, 1, 0, []byte("hello")); err != nil {
			return err
		}
		buf := make([]byte, 3<<20)
		for tag, size := range echoSizes {
			n, err := c.Recv(ctx, to, bmi.Tag(tag), buf[:size])
			if err == nil && (n != size || !bytes.Equal(buf[:n], pattern(n))) {
				err = fmt.Errorf("%d bytes of %d, or others", n, size)
			}
			if err == nil {
				err = c.Send(ctx, to, bmi.Tag(tag), buf[:n])
			}
			if err != nil {
				return err
			}
		}
	case "leave things behind":
		for round := range 8 {
			ep, err := bmi.Open(context.Background(), bmi.Config{})
			if err != nil {
				return err
			}
			c, err := ep.OpenContext()
			if err != nil {
				return err
			}
			to, err := ep.Lookup("via+shm://server")
			if err != nil {
				return err
			}
			for i := range 20 { // of messages that the server does not receive
				if err := c.Send(ctx, to, bmi.Tag(i), make([]byte, 4096)); err != nil {
					return fmt.Errorf("round %d: %w", round, err)
				}
			}
			if err := ep.Close(); err != nil {
				return err
			}
		}
	}
	return ep.Close()
}

var echoSizes = []int{0, 100, 9000, 100_000, 3 << 20}

func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i * 7)
	}
	return b
}

// TestEndpointForOtherUsers: a program of another user sends and receives messages of all kinds. The endpoint knows its user,
// also after the program has ended.
func TestEndpointForOtherUsers(t *testing.T) {
	s := newStrangers(t)
	ep, c := openSHM(t, "server", via.Options{OtherUsers: true})
	over := s.run("echo")
	ctx, stop := context.WithTimeout(context.Background(), wallclock.Patience)
	defer stop()
	var got [1]bmi.Unexpected
	for n := 0; n == 0; {
		var err error
		n, err = ep.TestUnexpectedClass(1, got[:], time.Second)
		require.NoError(t, err)
		require.NoError(t, ctx.Err())
	}
	in := got[0]
	require.True(t, strings.HasPrefix(in.From.String(), "via+shm://"+bmi.OtherUserMark+"31337."), in.From.String())
	require.Equal(t, "uid:31337", ep.AuthenticatedName(in.From))
	_, err := ep.Expose(in.From, make([]byte, 8))
	require.ErrorIs(t, err, bmi.ErrNotSupported, "a stranger reaches no memory")
	buf := make([]byte, 3<<20)
	for tag, size := range echoSizes {
		require.NoError(t, c.Send(ctx, in.From, bmi.Tag(tag), pattern(size)))
		n, err := c.Recv(ctx, in.From, bmi.Tag(tag), buf[:size])
		require.NoError(t, err)
		require.Equal(t, pattern(size), buf[:n])
	}
	text := ""
	require.Eventually(t, func() bool {
		var ended bool
		text, ended = over()
		return ended && ep.AuthenticatedName(in.From) == ""
	}, wallclock.Patience, time.Millisecond)
	require.Equal(t, "<nil>", text)
	require.Equal(t, &bmi.User{UID: strangerID, Groups: []uint32{strangerID, 7}}, ep.LocalUser(in.From))
	require.Zero(t, ep.Stats().Methods[0].Errors.Protocol)
}

// TestStrangersLeaveNothingBehind: messages of a stranger that were not received go with its connection.
func TestStrangersLeaveNothingBehind(t *testing.T) {
	s := newStrangers(t)
	ep, _ := openSHM(t, "server", via.Options{OtherUsers: true})
	over := s.run("leave things behind")
	text := ""
	require.Eventually(t, func() bool {
		var ended bool
		text, ended = over()
		m := ep.Stats().Methods[0]
		return ended && m.Peers == 0 && m.EarlyMessages == 0
	}, wallclock.Patience, 5*time.Millisecond)
	require.Equal(t, "<nil>", text)
}

// TestNotOpenToOtherUsers: without the option there is nothing for them.
func TestNotOpenToOtherUsers(t *testing.T) {
	s := newStrangers(t)
	openSHM(t, "server", via.Options{})
	over := s.run("echo")
	text := ""
	require.Eventually(t, func() bool {
		var ended bool
		text, ended = over()
		return ended
	}, wallclock.Patience, time.Millisecond)
	require.Contains(t, text, "VIADUCT_SHM_TRUST", "says what may be missing")
}

func TestUsersAreForNICsThatKnowThem(t *testing.T) {
	require.Equal(t, bmi.OtherUserMark, nic.OtherUserMark)
	for _, opts := range []via.Options{{OtherUsers: true}, {TrustUsers: []uint32{1}}} {
		_, err := openWith(t, "via+udp", "127.0.0.1:0", opts)
		require.ErrorIs(t, err, bmi.ErrInvalid)
		require.ErrorContains(t, err, "knows no users")
	}
	opener := driverNamed(t, "via+shm").(bmi.UserOpener)
	opts, err := opener.WithOtherUsers(via.Options{Credits: 40})
	require.NoError(t, err)
	require.True(t, opts.(via.Options).OtherUsers)
	require.Equal(t, 40, opts.(via.Options).Credits)
	_, err = opener.WithOtherUsers("options")
	require.ErrorIs(t, err, bmi.ErrInvalid)
	_, ok := driverNamed(t, "via+udp").(bmi.UserOpener)
	require.False(t, ok)
}

// TestStrangersDoNotFillTheLog: errors that a stranger can cause any number of times are logged only now and then.
func TestStrangersDoNotFillTheLog(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("VIADUCT_SHM_DIR", dir)
	var log logtext.Buffer
	ep, err := bmi.Open(context.Background(), bmi.Config{
		Listen: []string{"via+shm://server"}, Log: slog.New(slog.NewTextHandler(&log, nil)), Clock: func() time.Duration { return 0 },
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, ep.Close()) }()
	for range 5 {
		sayNonsense(t, filepath.Join(dir, "server"))
	}
	require.Eventually(t, func() bool { return strings.Contains(log.String(), "error of the NIC") }, wallclock.Patience, time.Millisecond)
	require.Equal(t, 1, strings.Count(log.String(), "error of the NIC"), log.String())
}

// sayNonsense connects to the socket of an endpoint, sends an invalid hello, and waits for the answer.
func sayNonsense(t *testing.T, path string) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	defer func() { require.NoError(t, unix.Close(fd)) }()
	require.NoError(t, unix.Connect(fd, &unix.SockaddrUnix{Name: path}))
	_, err = unix.Write(fd, []byte("what?"))
	require.NoError(t, err)
	n, err := unix.Read(fd, make([]byte, 256))
	require.NoError(t, err)
	require.NotZero(t, n)
}
