package launch

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/environ"
)

// guardVariable is set in the environment of a guard.
const guardVariable = "VIADUCT_LAUNCH_GUARD"

// A guard is a process that waits until this one has ended, and then kills the remaining process
// groups. A pipe tells it the groups; end of file on the pipe means that this process has ended. A
// nil guard does nothing.
type guard struct {
	cmd  *exec.Cmd
	pipe *os.File
}

// BecomeGuard does not return if this process was started as a guard. A program that sets
// Config.Guard must call it before anything else.
func BecomeGuard() {
	if environ.Getenv(guardVariable) == "" {
		return
	}
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	groups := map[int]bool{}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var what rune
		var pid int
		if _, err := fmt.Sscanf(in.Text(), "%c%d", &what, &pid); err != nil || pid <= 1 {
			continue
		}
		if what == '+' {
			groups[pid] = true
		} else {
			delete(groups, pid)
		}
	}
	for pid := range groups {
		_ = unix.Kill(-pid, unix.SIGKILL)
	}
	os.Exit(0)
}

func startGuard() (*guard, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	g := &guard{pipe: write, cmd: &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{"mpiexec-guard"}, Stdin: read,
		Env:         guardEnvironment(),
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}}
	err = g.cmd.Start()
	_ = read.Close()
	if err != nil {
		_ = write.Close()
		return nil, fmt.Errorf("the guard cannot be started: %w", err)
	}
	return g, nil
}

// raceVariable has the settings of the race detector. By default the race detector makes a process
// sleep for a second before it exits, and mpiexec would wait for that.
const raceVariable = "GORACE"

// guardEnvironment returns the environment of a guard.
func guardEnvironment() []string {
	env := []string{guardVariable + "=1"}
	if race, ok := os.LookupEnv(raceVariable); ok {
		env = append(env, raceVariable+"="+race)
	}
	return env
}

func (g *guard) add(pid int)    { g.tell('+', pid) }
func (g *guard) remove(pid int) { g.tell('-', pid) }

// tell makes one write, so that lines from several goroutines stay whole. It ignores errors: the
// job goes on without its guard.
func (g *guard) tell(what rune, pid int) {
	if g != nil {
		_, _ = fmt.Fprintf(g.pipe, "%c%d\n", what, pid)
	}
}

func (g *guard) end() {
	if g != nil {
		_ = g.pipe.Close()
		_ = g.cmd.Wait()
	}
}
