//go:build linux

package process

import (
	"context"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/viaduct-hpc/viaduct/internal/logtext"
	"github.com/viaduct-hpc/viaduct/plugins/proto"
)

// TestStartAndStop: with and without encryption.
func TestStartAndStop(t *testing.T) {
	for _, plaintext := range []bool{false, true} {
		dir := shortTemp(t)
		cfg := as("plugin")
		cfg.Plaintext = plaintext
		p := begin(t, cfg)
		assert.NoError(t, p.Err())
		assert.Equal(t, "3", ask(t, p, "length=abc"))
		assert.Empty(t, files(t, dir), "the socket needs no name once the connection is up")
		p.Stop(10 * time.Second)
		assert.EqualError(t, p.Err(), "plugin test ended: exit status 0")
		_, err := p.Client().Describe(t.Context(), &proto.DescribeRequest{})
		assert.Error(t, err)
		p.Kill()
		p.Stop(time.Second)
	}
}

// TestLargeMessages: allowed in a stream and in a request, but not in an answer.
func TestLargeMessages(t *testing.T) {
	const size = 32 << 20
	p := begin(t, as("plugin"))
	large := strings.Repeat("x", size)
	assert.Equal(t, strconv.Itoa(size), ask(t, p, "length="+large))
	stream, err := p.Client().Data(t.Context())
	require.NoError(t, err)
	require.NoError(t, stream.Send(&proto.Record{Text: large}))
	back, err := stream.Recv()
	require.NoError(t, err)
	assert.Len(t, back.GetText(), size)
	_, err = p.Client().Describe(t.Context(), &proto.DescribeRequest{Program: "large=" + strconv.Itoa(size)})
	assert.Equal(t, codes.ResourceExhausted, status.Code(err))
}

// TestForeign: a plugin needs only gRPC, and ends when told.
func TestForeign(t *testing.T) {
	p := begin(t, as("foreign"))
	assert.Equal(t, "1", ask(t, p, "length=x"))
	p.Stop(10 * time.Second)
	assert.EqualError(t, p.Err(), "plugin test ended: signal: terminated")
}

// TestEnvironment: the plugin has the given environment and go-plugin's; its input is not the
// terminal.
func TestEnvironment(t *testing.T) {
	t.Setenv("PROCESS_TEST_SECRET", "1")
	theirs, ours, err := os.Pipe()
	require.NoError(t, err)
	defer closeFiles(theirs, ours)
	defer func(f *os.File) { os.Stdin = f }(os.Stdin)
	os.Stdin = theirs
	cfg := as("plugin")
	cfg.Env = append(cfg.Env, "MINE=yes")
	p := begin(t, cfg)
	var names []string
	for line := range strings.SplitSeq(ask(t, p, "env"), "\n") {
		name, _, _ := strings.Cut(line, "=")
		names = append(names, name)
	}
	assert.ElementsMatch(t, []string{roleKey, "MINE", CookieKey, SocketKey, "PLUGIN_MIN_PORT", "PLUGIN_MAX_PORT", "PLUGIN_PROTOCOL_VERSIONS", "PLUGIN_UNIX_SOCKET_DIR"}, names)
	assert.Equal(t, os.DevNull, ask(t, p, "stdin"))
	group, err := unix.Getpgid(p.PID())
	require.NoError(t, err)
	assert.Equal(t, p.PID(), group, "Ctrl-C at the terminal is not for the plugin")
}

// TestKilled: the plugin is killed from outside.
func TestKilled(t *testing.T) {
	p := begin(t, as("plugin"))
	require.NoError(t, unix.Kill(p.PID(), unix.SIGKILL))
	<-p.Done()
	assert.EqualError(t, p.Err(), "plugin test ended: signal: killed")
	assert.ErrorIs(t, p.Pass(1, 0), ErrEnded)
	_, err := p.Client().Describe(t.Context(), &proto.DescribeRequest{})
	assert.Error(t, err)
}

// TestEndings: what Err says.
func TestEndings(t *testing.T) {
	for what, want := range map[string]string{
		"exit=7": "plugin test ended: exit status 7",
		"panic":  "plugin test ended: exit status 2: panic: asked for",
	} {
		p := begin(t, as("plugin"))
		_, err := p.Client().Describe(t.Context(), &proto.DescribeRequest{Program: what})
		// Unavailable: its end shows in the connection first; Canceled: the end of the pair was
		// noticed first.
		assert.Contains(t, []codes.Code{codes.Unavailable, codes.Canceled}, status.Code(err))
		<-p.Done()
		assert.ErrorContains(t, p.Err(), want)
	}
}

// TestHangsAtStop: a plugin that cannot answer is killed.
func TestHangsAtStop(t *testing.T) {
	p := begin(t, as("plugin"))
	require.NoError(t, unix.Kill(p.PID(), unix.SIGSTOP))
	require.Eventually(t, func() bool { return halted(t, p.PID()) }, patience, time.Millisecond)
	p.Stop(100 * time.Millisecond)
	assert.EqualError(t, p.Err(), "plugin test ended: signal: killed")
}

// TestEndOfPair: a plugin ends when the socket pair does, even if its methods are busy.
func TestEndOfPair(t *testing.T) {
	p := begin(t, as("plugin"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range 2 * runtime.NumCPU() {
		go func() { _, _ = p.Client().Describe(ctx, &proto.DescribeRequest{Program: "spin"}) }()
	}
	ask(t, p, "length=")
	require.NoError(t, p.socket.Close())
	<-p.Done()
	assert.EqualError(t, p.Err(), "plugin test ended: exit status 0")
}

// TestProgramKilled: if a program is killed, its plugin dies with it, even a stopped one, and no
// file is left.
func TestProgramKilled(t *testing.T) {
	for _, stopped := range []bool{false, true} {
		dir := shortTemp(t)
		out, in, err := os.Pipe()
		require.NoError(t, err)
		exe, err := os.Executable()
		require.NoError(t, err)
		program, err := os.StartProcess(exe, []string{exe}, &os.ProcAttr{Env: []string{roleKey + "=program", "TMPDIR=" + dir}, Files: []*os.File{nil, in, os.Stderr}})
		require.NoError(t, err)
		require.NoError(t, in.Close())
		line := make([]byte, 32)
		n, err := out.Read(line)
		require.NoError(t, err)
		pid, err := strconv.Atoi(strings.TrimSpace(string(line[:n])))
		require.NoError(t, err, "%q", line[:n])
		require.False(t, gone(pid))
		if stopped {
			require.NoError(t, unix.Kill(pid, unix.SIGSTOP))
		}
		require.NoError(t, program.Kill())
		_, err = program.Wait()
		require.NoError(t, err)
		if !assert.Eventually(t, func() bool { return gone(pid) }, patience, 5*time.Millisecond) {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		require.NoError(t, out.Close())
		assert.Empty(t, files(t, dir))
	}
}

// TestThreadEnds: the kernel's parent of a plugin is the thread that forked; ours outlives the
// caller of Start.
func TestThreadEnds(t *testing.T) {
	started, thread := make(chan *Process, 1), 0
	var start func()
	start = func() {
		runtime.LockOSThread() // and never unlock: the thread ends with the goroutine
		if thread = unix.Gettid(); thread == os.Getpid() {
			again := make(chan struct{})
			go func() { defer close(again); start() }()
			<-again // on another thread, because this one and the process's first, which stays, are locked
			return
		}
		p, err := Start(context.Background(), as("plugin"))
		assert.NoError(t, err)
		started <- p
	}
	go start()
	p := <-started
	require.NotNil(t, p)
	defer p.Kill()
	require.Eventually(t, func() bool {
		_, err := os.Stat("/proc/self/task/" + strconv.Itoa(thread))
		return os.IsNotExist(err)
	}, patience, time.Millisecond)
	assert.Equal(t, "0", ask(t, p, "length="))
}

// TestLog: all output of the plugin is in the log.
func TestLog(t *testing.T) {
	var text logtext.Buffer
	cfg := as("plugin")
	cfg.Log = textLog(&text)
	p := begin(t, cfg)
	ask(t, p, "print")
	p.Stop(10 * time.Second)
	for _, want := range []string{
		`level=INFO msg="printed to stdout" plugin=test`,
		`level=WARN msg="printed to stderr" plugin=test`,
		`level=INFO msg="{\"@message\": 1, \"@level\": 2}" plugin=test`,
		`level=INFO msg=odd plugin=test`,
		`level=ERROR msg=logged plugin=test key=value`,
		`level=INFO msg=liar plugin=test its.level=ERROR its.msg=x its.plugin=other its.time=1`,
	} {
		assert.Contains(t, text.String(), want)
	}
	for line := range strings.Lines(text.String()) {
		assert.LessOrEqual(t, strings.Count(line, " plugin="), 1, line)
	}
}

// TestNothingIsLeft after many plugins: no descriptor, goroutine, file or process.
func TestNothingIsLeft(t *testing.T) {
	dir := shortTemp(t)
	begin(t, as("plugin")).Kill() // the first plugin leaves things that are made once per process
	before := len(files(t, "/proc/self/fd"))
	for i := range 20 {
		p := begin(t, as("plugin"))
		if i%2 == 0 {
			p.Stop(10 * time.Second)
		} else {
			p.Kill()
		}
		assert.True(t, gone(p.PID()))
	}
	assert.Empty(t, files(t, dir))
	assert.Eventually(t, func() bool { return len(files(t, "/proc/self/fd")) <= before }, patience, 5*time.Millisecond)
	goleak.VerifyNone(t)
}

// TestManyAtOnce: plugins are started and ended by several goroutines.
func TestManyAtOnce(t *testing.T) {
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			p, err := Start(t.Context(), as("plugin"))
			if !assert.NoError(t, err) {
				return
			}
			p.Stop(20 * time.Second)
			assert.EqualError(t, p.Err(), "plugin test ended: exit status 0")
		})
	}
	all.Wait()
}

// memfd is a file with a text.
func memfd(t *testing.T, text string) int {
	t.Helper()
	fd, err := unix.MemfdCreate("test", unix.MFD_CLOEXEC)
	require.NoError(t, err)
	f := os.NewFile(uintptr(fd), "")
	t.Cleanup(func() { _ = f.Close() })
	_, err = f.WriteString(text)
	require.NoError(t, err)
	_, err = f.Seek(0, io.SeekStart)
	require.NoError(t, err)
	return fd
}
