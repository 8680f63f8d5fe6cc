package pmi

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/mpi/pmi/server"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
)

// programVariable makes this test binary a process of a job that runs the named program.
const programVariable = "PMI_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if what := os.Getenv(programVariable); what != "" {
		os.Exit(program(what))
	}
	// With the race detector, a process sleeps for a second before it ends.
	_ = os.Setenv("GORACE", "atexit_sleep_ms=0")
	goleak.VerifyTestMain(m)
}

const waitMax = wallclock.Patience

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waitMax)
	t.Cleanup(cancel)
	return ctx
}

// pair is a connection like a launcher's: our end, and a descriptor.
func pair(t *testing.T) (net.Conn, int) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	f := os.NewFile(uintptr(fds[0]), "pair")
	conn, err := net.FileConn(f)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	t.Cleanup(func() { _ = conn.Close() })
	return conn, fds[1]
}

// launcherEnv returns the environment that a launcher sets.
func launcherEnv(fd, rank, size int, more ...string) func(string) string {
	env := map[string]string{FDEnv: strconv.Itoa(fd), RankEnv: strconv.Itoa(rank), SizeEnv: strconv.Itoa(size)}
	for i := 0; i < len(more); i += 2 {
		env[more[i]] = more[i+1]
	}
	return func(key string) string { return env[key] }
}

// connectAll makes the clients of all ranks of a server's job.
func connectAll(t *testing.T, cfg server.Config, more ...string) []Client {
	t.Helper()
	j := server.New(cfg)
	clients := make([]Client, cfg.Size)
	for rank := range clients {
		conn, fd := pair(t)
		served := make(chan error)
		go func() { served <- j.Serve(rank, conn) }()
		c, ok, err := Connect(testContext(t), launcherEnv(fd, rank, cfg.Size, more...))
		require.NoError(t, err)
		require.True(t, ok)
		clients[rank] = c
		t.Cleanup(func() {
			_ = c.Close()
			require.NoError(t, <-served)
		})
	}
	t.Cleanup(j.Close) // before the clients close
	return clients
}

// program is the program of the processes of a job with a real launcher.
func program(what string) int {
	ctx, cancel := context.WithTimeout(context.Background(), waitMax)
	defer cancel()
	c, ok, err := FromEnvironment(ctx)
	if what == "child" && err == nil && !ok {
		fmt.Println("a child is alone")
		return 0
	}
	if err != nil || !ok {
		fmt.Println("not connected:", ok, err)
		return 3
	}
	defer func() { _ = c.Close() }()
	switch what {
	case "exchange":
		err = exchange(ctx, c)
	case "abort":
		err = abort(ctx, c)
	case "spawn":
		err = spawn(ctx, c)
	case "names":
		err = names(ctx, c)
	case "again":
		err = again(ctx, c)
	case "child":
		return 5 // it has a launcher, as it seems
	}
	if err != nil {
		fmt.Printf("rank %d: %v\n", c.Rank(), err)
		return 4
	}
	return 0
}

// exchange makes every rank get the values of the others, three times.
func exchange(ctx context.Context, c Client) error {
	for round := range 3 {
		if err := c.Put(ctx, fmt.Sprintf("key-%d-%d", round, c.Rank()), fmt.Sprintf("value-%d", round*1000+c.Rank())); err != nil {
			return err
		}
		if err := c.Fence(ctx); err != nil {
			return err
		}
		for rank := range c.Size() {
			got, err := c.Get(ctx, fmt.Sprintf("key-%d-%d", round, rank))
			if err != nil {
				return err
			}
			if want := fmt.Sprintf("value-%d", round*1000+rank); got != want {
				return fmt.Errorf("%q instead of %q", got, want)
			}
		}
	}
	fmt.Printf("rank %d of %d of %s is done, app %d\n", c.Rank(), c.Size(), c.JobID(), c.AppNum())
	return c.Finalize(ctx)
}

// abort makes the last rank abort while the others wait for it.
func abort(ctx context.Context, c Client) error {
	if c.Rank() == c.Size()-1 {
		return c.Abort(9, "the last one gives up")
	}
	return c.Fence(ctx)
}

// spawn makes rank 0 start two more processes, which get the values that it preput.
func spawn(ctx context.Context, c Client) error {
	if c.Parent() {
		got, err := c.Get(ctx, "PARENT")
		if err != nil {
			return err
		}
		fmt.Printf("child %d of %d finds %s\n", c.Rank(), c.Size(), got)
		return c.Finalize(ctx)
	}
	if c.Rank() == 0 {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		codes, err := c.Spawn(ctx, self, []string{"a b"}, 2, nil, map[string]string{"PARENT": "us:1"})
		if err != nil {
			return err
		}
		fmt.Println("spawned", codes)
	}
	return c.Finalize(ctx)
}

// names makes rank 0 publish a name that the others look up.
func names(ctx context.Context, c Client) error {
	if c.Rank() == 0 {
		if err := c.Publish(ctx, "service", "port:1"); err != nil {
			return err
		}
	}
	if err := c.Fence(ctx); err != nil {
		return err
	}
	port, err := c.Lookup(ctx, "service")
	if err != nil {
		return err
	}
	fmt.Printf("rank %d finds %s\n", c.Rank(), port)
	return c.Finalize(ctx)
}

// again makes a rank start a program that is no rank.
func again(ctx context.Context, c Client) error {
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), programVariable+"=child")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return err
	}
	return c.Finalize(ctx)
}
