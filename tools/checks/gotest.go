package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/need"
	"github.com/viaduct-hpc/viaduct/internal/tiers"
)

// packageTimeout is how long the tests of one package may take: so long that only a program that
// hangs, or one on an extremely busy machine, exceeds it.
const packageTimeout = "40m"

// A module is the tested module, with the table.
type module struct {
	path    string // its name
	rows    []tiers.Row
	canRace bool // cgo and a C compiler are available
}

// loadModule reads the module in the current folder, which must be its root.
func loadModule(ctx context.Context) (*module, error) {
	page, err := os.ReadFile(tiers.Page)
	if err != nil {
		return nil, fmt.Errorf("checks: %w (run it in the root of the module)", err)
	}
	rows, err := tiers.Parse(page)
	if err != nil {
		return nil, err
	}
	out, err := exec.CommandContext(ctx, "go", "list", "-m").Output()
	if err != nil {
		return nil, fmt.Errorf("checks: go list -m: %w", err)
	}
	cgo, err := exec.CommandContext(ctx, "go", "env", "CGO_ENABLED").Output()
	if err != nil {
		return nil, fmt.Errorf("checks: go env: %w", err)
	}
	return &module{path: strings.TrimSpace(string(out)), rows: rows, canRace: strings.TrimSpace(string(cgo)) == "1"}, nil
}

// A selection is a set of packages that one go command tests.
type selection struct {
	race     bool
	packages []string // folders relative to the root
	env      []string // additional environment of its tests
}

// errNoRace says what the race detector lacks.
var errNoRace = errors.New("checks: the race detector needs cgo and a C compiler: apt-get install gcc libc6-dev")

// selected are the packages whose rows pass.
func (m *module) selected(race bool, passes func(tiers.Row) bool) selection {
	s := selection{race: race}
	for _, row := range m.rows {
		if passes(row) {
			s.packages = append(s.packages, row.Package)
		}
	}
	return s
}

// within selects packages whose folders begin with one of the given ones; all of them if none is
// given.
func within(folders []string) func(tiers.Row) bool {
	return func(row tiers.Row) bool {
		for _, folder := range folders {
			folder = strings.TrimPrefix(strings.TrimSuffix(folder, "/"), "./")
			if row.Package == folder || strings.HasPrefix(row.Package, folder+"/") {
				return true
			}
		}
		return len(folders) == 0
	}
}

// test runs go test on packages, and folds the output into f. Flags of go test are put before the packages,
// those of the test binaries behind.
func (m *module) test(ctx context.Context, f *fold, goFlags, testFlags []string, s selection) error {
	// Many tests wait for processes, sockets and timers: others run meanwhile.
	args := append([]string{"test", "-json", "-timeout=" + packageTimeout, "-p=" + strconv.Itoa(2*runtime.NumCPU())}, goFlags...)
	if s.race {
		args = append(args, "-race")
	}
	for _, folder := range s.packages {
		args = append(args, "./"+folder)
	}
	return f.follow(ctx, goCommand(ctx, s.environment(), append(args, testFlags...)...))
}

// environment is the environment of the go command. Profile-guided optimisation would compile the
// standard library and all dependencies again for each command that has a profile. Without the race
// detector nothing needs cgo, and released programs are built without it. With the race detector, a
// process would otherwise sleep for a second at its end.
func (s selection) environment() []string {
	env := append(os.Environ(), "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -pgo=off"), need.MachineVariable+"="+need.Machine())
	switch {
	case !s.race:
		env = append(env, "CGO_ENABLED=0")
	case os.Getenv("GORACE") == "":
		env = append(env, "GORACE=atexit_sleep_ms=0")
	}
	return append(env, s.env...)
}

// endTime is how long tests may take to end after they were told to.
const endTime = 10 * time.Second

// goCommand is the go command in an environment. When ctx ends it is interrupted, with all processes
// that it has started: they are a process group, because the go command does not signal every one of
// them.
func goCommand(ctx context.Context, env []string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cancelBy(cmd, syscall.SIGINT)
	cmd.WaitDelay = endTime
	return cmd
}

// cancelBy makes a command and all its processes get a signal when its context ends.
func cancelBy(cmd *exec.Cmd, signal syscall.Signal) {
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, signal) }
}

// follow runs a command that prints events, and folds them. A failed test is not an error of the
// command.
func (f *fold) follow(ctx context.Context, cmd *exec.Cmd) error {
	r, w := io.Pipe()
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("checks: %w", err)
	}
	read := make(chan error, 1)
	go func() { read <- f.read(r) }()
	err := cmd.Wait()
	_ = w.Close() // this ends the reading
	if err := <-read; err != nil {
		return fmt.Errorf("checks: what go says cannot be read: %w", err)
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 && ctx.Err() == nil {
		f.mu.Lock()
		f.broken = true
		f.mu.Unlock()
		return nil
	}
	return err
}
