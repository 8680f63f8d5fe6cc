package methodtest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/environ"
)

// forkVariable is the environment variable with the address on which a process started by
// ForkSelf listens.
const forkVariable = "VIADUCT_METHODTEST_SERVE"

// forkReady is what such a process prints when it listens.
const forkReady = "methodtest: listening"

// Main is the body of a TestMain for packages that use ForkSelf. In a process started by
// ForkSelf it serves and exits; otherwise it runs the tests and returns the exit code.
// open is nil for bmi.Open.
func Main(m *testing.M, open func(context.Context, bmi.Config) (*bmi.Endpoint, error)) int {
	// With the race detector, a process that a test starts would otherwise end a second
	// late.
	_ = os.Setenv("GORACE", os.Getenv("GORACE")+" atexit_sleep_ms=0")
	address := environ.Getenv(forkVariable)
	if address == "" {
		return m.Run()
	}
	if open == nil {
		open = bmi.Open
	}
	if err := serveProcess(address, open); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// MainWithoutLeaks is Main for packages whose tests must leave no goroutine behind. A
// goroutine that is left after all tests have passed is printed, and the exit code is 1.
func MainWithoutLeaks(m *testing.M, open func(context.Context, bmi.Config) (*bmi.Endpoint, error)) int {
	code := Main(m, open)
	if code != 0 {
		return code
	}
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// serveProcess serves until its standard input ends, so that it never outlives the process
// that started it.
func serveProcess(address string, open func(context.Context, bmi.Config) (*bmi.Endpoint, error)) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	e, err := open(ctx, bmi.Config{Listen: []string{address}})
	if err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	fmt.Println(forkReady)
	return errors.Join(Serve(ctx, e), e.Close())
}

// ForkSelf is a Fork hook that runs the test binary again. The package's TestMain must
// call Main.
func ForkSelf(address func(name string) string) func(t T, name string) Process {
	return func(t T, name string) Process {
		t.Helper()
		cmd := exec.Command(os.Args[0], "-test.run=^$")
		cmd.Env = append(os.Environ(), forkVariable+"="+address(name))
		cmd.Stderr = os.Stderr
		stdin, err := cmd.StdinPipe()
		require.NoError(t, err)
		stdout, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		p := &childProcess{cmd: cmd, stdin: stdin, ended: make(chan struct{})}
		ready := make(chan bool, 1)
		go p.watch(stdout, ready)
		t.Cleanup(p.Kill)
		select {
		case ok := <-ready:
			require.True(t, ok, "the forked process ended without listening")
		case <-time.After(defaultTimeout):
			t.Errorf("the forked process does not listen after %v", defaultTimeout)
			t.FailNow()
		}
		return p
	}
}

// A childProcess is a peer in another process of this binary.
type childProcess struct {
	cmd   *exec.Cmd
	stdin io.Closer
	ended chan struct{} // closed when the process has ended
	err   error         // valid then
}

// watch reports the ready line and waits for the end.
func (p *childProcess) watch(stdout io.Reader, ready chan<- bool) {
	lines := bufio.NewScanner(stdout)
	ready <- lines.Scan() && lines.Text() == forkReady
	_, _ = io.Copy(io.Discard, stdout)
	p.err = p.cmd.Wait()
	close(p.ended)
}

func (p *childProcess) Kill() {
	// It fails only if the process has already ended.
	_ = p.cmd.Process.Kill()
	<-p.ended
}

func (p *childProcess) Stop() error {
	_ = p.stdin.Close()
	<-p.ended
	return p.err
}
