//go:build linux

package process

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"

	"github.com/viaduct-hpc/viaduct/internal/wallclock"
	"github.com/viaduct-hpc/viaduct/plugins/proto"
)

// roleKey is a variable that makes the test binary another program: a plugin, a program that is no
// plugin, or one that has a plugin.
const roleKey = "PROCESS_TEST_ROLE"

// patience limits the wait for something that must happen.
const patience = wallclock.Patience

func TestMain(m *testing.M) {
	role, argument, _ := strings.Cut(os.Getenv(roleKey), "=")
	switch role {
	case "":
		goleak.VerifyTestMain(m)
	case "plugin":
		Serve(func(r grpc.ServiceRegistrar, i *Inherited) { proto.RegisterMethodServer(r, &service{inherited: i}) })
	case "program":
		program()
	case "foreign":
		foreign()
	case "crashes": // after its handshake
		fmt.Println("1|1|unix|/nonexistent|grpc")
		panic("after the handshake")
	case "silent":
		wallclock.Forever()
	case "says": // and keeps running
		fmt.Print(argument)
		wallclock.Forever()
	case "ends":
		fmt.Fprintln(os.Stderr, "what is this?")
		fmt.Print(argument)
		os.Exit(3)
	case "panics":
		panic("at once")
	}
}

// service acts as its tests ask.
type service struct {
	proto.UnimplementedMethodServer
	inherited *Inherited
}

func (s *service) Describe(ctx context.Context, q *proto.DescribeRequest) (*proto.DescribeReply, error) {
	what, argument, _ := strings.Cut(q.Program, "=")
	n, _ := strconv.Atoi(argument)
	reply := func(text string) (*proto.DescribeReply, error) { return &proto.DescribeReply{Version: text}, nil }
	switch what {
	case "env":
		return reply(strings.Join(os.Environ(), "\n"))
	case "large":
		return reply(strings.Repeat("x", n))
	case "length":
		return reply(strconv.Itoa(len(argument)))
	case "descriptors":
		fds, err := s.inherited.Descriptors(ctx, uint64(n))
		if err != nil {
			return nil, err
		}
		return reply(readAll(fds))
	case "open":
		entries, _ := os.ReadDir("/proc/self/fd")
		return reply(strconv.Itoa(len(entries)))
	case "stdin":
		name, _ := os.Readlink("/proc/self/fd/0")
		return reply(name)
	case "print":
		fmt.Println("printed to stdout")
		fmt.Fprintln(os.Stderr, "[WARN] printed to stderr")
		fmt.Fprintln(os.Stderr, `{"@message": 1, "@level": 2}`)
		fmt.Fprintln(os.Stderr, `{"@message": "odd", "@level": ["x"], "@timestamp": 5}`)
		fmt.Fprintln(os.Stderr, `{"@message": "liar", "@level": "info", "plugin": "other", "level": "ERROR", "msg": "x", "time": 1}`)
		NewLogger(os.Stderr).Error("logged", "key", "value")
	case "panic":
		go panic("asked for")
		wallclock.Forever()
	case "exit":
		os.Exit(n)
	case "spin":
		for {
			n++
		}
	}
	return reply("")
}

// Data returns the records that it gets.
func (s *service) Data(stream proto.Method_DataServer) error {
	for {
		r, err := stream.Recv()
		if err != nil {
			return nil
		}
		if err := stream.Send(r); err != nil {
			return err
		}
	}
}

// readAll returns the contents of the files, and whether children would inherit them.
func readAll(fds []int) string {
	var all []string
	for _, fd := range fds {
		flags, _ := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		f := os.NewFile(uintptr(fd), "")
		b, _ := io.ReadAll(f)
		_ = f.Close()
		all = append(all, fmt.Sprintf("%s (close on exec: %v)", b, flags&unix.FD_CLOEXEC != 0))
	}
	return strings.Join(all, ", ")
}

// program starts a plugin and prints the plugin's process id.
func program() {
	p, err := Start(context.Background(), as("plugin"))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(p.PID())
	wallclock.Forever()
}

// foreign is a plugin like one in another language: no go-plugin, no health service, no
// descriptors.
func foreign() {
	path := filepath.Join(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		panic(err)
	}
	fmt.Printf("1|1|unix|%s|grpc\n", path)
	s := grpc.NewServer()
	proto.RegisterMethodServer(s, &service{})
	panic(s.Serve(l))
}

// as returns a Config for this binary in a role.
func as(role string) Config {
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return Config{Name: "test", Path: exe, Env: []string{roleKey + "=" + role}, Plaintext: true}
}

// begin starts a plugin that ends with the test.
func begin(t *testing.T, cfg Config) *Process {
	t.Helper()
	p, err := Start(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(p.Kill)
	return p
}

func ask(t *testing.T, p *Process, what string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), wallclock.Patience)
	defer cancel()
	reply, err := p.Client().Describe(ctx, &proto.DescribeRequest{Program: what})
	require.NoError(t, err)
	return reply.GetVersion()
}

// gone tells whether the process is dead, even if it was not reaped.
func gone(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(rest, "Z") || strings.HasPrefix(rest, "X")
}

// halted tells whether every thread of a process has stopped. One that has not may still answer.
func halted(t *testing.T, pid int) bool {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	require.NoError(t, err)
	for _, thread := range threads {
		stat, _ := os.ReadFile(thread) // it may have ended
		if _, rest, _ := strings.Cut(string(stat), ") "); rest != "" && !strings.HasPrefix(rest, "T") {
			return false
		}
	}
	return len(threads) > 0
}

// shortTemp makes a folder for temporary files with a short name, and returns it.
func shortTemp(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "t")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	t.Setenv("TMPDIR", dir)
	return dir
}

func files(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// textLog is a logger that writes text.
func textLog(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: LevelTrace}))
}
