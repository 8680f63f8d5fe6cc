package launch

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/mpi/launch/hosts"
	"github.com/viaduct-hpc/viaduct/internal/mpi/launch/tree/wire"
)

// shellOf makes a command that runs a program "on a host": here, after saying a line, as remote
// shells do.
func shellOf(t *testing.T) string {
	t.Helper()
	return script(t, "#!/bin/sh\necho Welcome to $1\nshift\nexec \"$@\"\n")
}

// onHosts puts a job on three hosts. Its welcomes are not reported.
func (r *run) onHosts(slots int) *run {
	r.cfg.Hosts = &Hosts{Shell: []string{shellOf(r.t)}, Arity: 2}
	for _, name := range []string{"a", "b", "c"} {
		r.cfg.Hosts.List = append(r.cfg.Hosts.List, hosts.Host{Name: name, Slots: slots})
	}
	report := r.cfg.Report
	r.cfg.Report = func(sentence string) {
		if !strings.Contains(sentence, "Welcome") {
			report(sentence)
		}
	}
	return r
}

func TestRanksOnHostsFindEachOther(t *testing.T) {
	for _, arity := range []int{1, 16} {
		r := newRun(t, 3, "exchange").onHosts(2)
		r.cfg.Hosts.Arity = arity
		r.cfg.Programs = append(r.cfg.Programs, program(t, 2, "exchange"))
		r.start().wait().check(0)
		assert.Equal(t, []string{
			"[0] v0 v1 v2 v3 v4 <nil> 0 false 32", "[1] v0 v1 v2 v3 v4 <nil> 0 false 32", "[2] v0 v1 v2 v3 v4 <nil> 0 false 32",
			"[3] v0 v1 v2 v3 v4 <nil> 1 false 32", "[4] v0 v1 v2 v3 v4 <nil> 1 false 32",
		}, sortedLines(r.out.String()))
	}
}

func TestWhatAShellSaysIsReported(t *testing.T) {
	r := newRun(t, 3, "echo").onHosts(1)
	var said []string
	r.cfg.Report = func(sentence string) { said = append(said, sentence) }
	r.start().wait()
	slices.Sort(said)
	assert.Equal(t, []string{"a: Welcome to a", "b: Welcome to b", "c: Welcome to c"}, said)
}

func TestStdinGoesToRank0OnAnotherHost(t *testing.T) {
	r := newRun(t, 3, "echo").onHosts(1)
	text := strings.Repeat("a line\n", 100000) // more than all windows and pipes hold
	r.cfg.Stdin, r.cfg.Label = strings.NewReader(text), false
	r.start().wait().check(0)
	assert.Equal(t, text, r.out.String())
	assert.Equal(t, []string{"bytes 0", "bytes 0", "bytes 700000"}, sortedLines(r.err.String()))
}

func TestEnvironmentOnHosts(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	t.Setenv("SSH_TTY", "/dev/of-the-host")
	r := newRun(t, 4, "environment").onHosts(2)
	r.cfg.Env = []string{"A=1", "B=2", "PMI_RANK=no-number", "VIADUCT_JOB_KEY=old", "SSH_TTY=/dev/of-the-launcher", "PATH=" + os.Getenv("PATH")}
	r.cfg.Programs[0].Env = append(r.cfg.Programs[0].Env, "B=3")
	r.cfg.Programs[0].Dir = dir
	r.start().wait().check(0)
	out := r.out.String()
	for _, line := range []string{
		"[0] A=1", "[1] B=3", "[0] PMI_RANK=0", "[3] PMI_RANK=3", "[1] PMI_SIZE=4", "[1] MPI_LOCALRANKID=1", "[2] MPI_LOCALRANKID=0", "[2] MPI_LOCALNRANKS=2", "[0] dir " + dir,
		"[0] SSH_TTY=/dev/of-the-host",
	} {
		assert.Contains(t, out, line+"\n")
	}
	for _, text := range []string{"B=2", "no-number", "=old", "of-the-launcher"} {
		assert.NotContains(t, out, text)
	}
	keys := map[string]bool{}
	for _, line := range sortedLines(out) {
		if _, key, ok := strings.Cut(line, "VIADUCT_JOB_KEY="); ok {
			keys[key] = true
		}
	}
	assert.Len(t, keys, 1, "one key for all hosts")
}

func TestWhatHappensToTheOthersOnHosts(t *testing.T) {
	for what, want := range map[string]struct {
		code     int
		sentence string
	}{
		"die":          {137, `^rank 1 \(process \d+ on b\) was killed by signal 9 \(SIGKILL\): the 3 other processes are ended, too$`},
		"fail":         {7, `^rank 1 \(process \d+ on b\) ended with exit code 7: the 3 other processes are ended, too$`},
		"desert":       {1, `^rank 1 \(process \d+ on b\) ended with exit code 0 without calling Finalize: the 3 other processes are ended, too$`},
		"desert alone": {1, `^rank \d \(process \d+ on \w\) ended with exit code 0 without calling Finalize`},
		"abort":        {9, `^rank 1 \(process \d+ on b\) aborted the job with exit code 9: "enough : enough"$`},
		"gone early":   {1, `^rank \d \(process \d+ on \w\) ended with exit code 0 without calling Init, which others have called`},
		"babble":       {1, `^rank \d \(process \d+ on \w\) breaks the rules of PMI, so the job is ended: rank \d of viaduct_\w+: malformed PMI command: "frobnicate" is no command of PMI-1$`},
	} {
		t.Run(what, func(t *testing.T) {
			r := newRun(t, 4, what).onHosts(1).start().wait()
			r.check(want.code, want.sentence)
			assert.NotContains(t, r.out.String(), "goes on")
		})
	}
}

func TestEndsOnHosts(t *testing.T) {
	r := newRun(t, 2, "fail late").onHosts(1)
	r.start().wait().check(10, `^rank 1 \(process \d+ on b\) ended with exit code 10$`)

	r = newRun(t, 3, "never init").onHosts(1)
	r.cfg.InitTimeout = 100 * time.Millisecond
	r.start().wait().check(CodeTimeout, `^ranks 1, 2 have not called Init within 100ms, and the others wait for that: the job is ended`)

	r = newRun(t, 3, "survive").onHosts(1)
	r.cfg.KeepGoing = true
	r.start().wait().check(137, `^rank 1 \(process \d+ on b\) was killed by signal 9 \(SIGKILL\)$`)
	assert.Equal(t, 2, strings.Count(r.out.String(), "survived"))

	for name, n := range map[string]unix.Signal{"INT": unix.SIGINT, "QUIT": unix.SIGQUIT, "PIPE": unix.SIGPIPE} {
		r = newRun(t, 1, "wait").onHosts(1)
		r.cfg.Programs = []Program{{N: 1, Path: "sh", Args: []string{"-c", "kill -" + name + " $$; echo it is ignored"}}}
		r.start().wait().check(CodeSignal+int(n), "was killed by signal")
	}

	r = newRun(t, 3, "last words").onHosts(1).start().wait()
	assert.Contains(t, r.out.String(), "the last line\n")
}

func TestSignalsReachOtherHosts(t *testing.T) {
	r := newRun(t, 3, "wait").onHosts(1).start()
	r.until(3, "waits")
	r.signals <- unix.SIGUSR1
	r.until(3, "got user defined signal 1")
	r.signals <- unix.SIGTERM
	r.wait().check(CodeSignal + int(unix.SIGTERM))

	r = newRun(t, 2, "handle").onHosts(1).start()
	r.until(2, "waits")
	r.signals <- unix.SIGINT
	r.wait().check(0)

	r = newRun(t, 3, "stubborn").onHosts(1)
	r.cfg.Grace = 200 * time.Millisecond
	r.start().until(3, "waits")
	r.signals <- unix.SIGTERM
	r.wait().check(137)
}

// A timeout shows what each process is doing.
func TestTimeoutShowsStacks(t *testing.T) {
	for _, where := range []string{"here", "on hosts"} {
		t.Run(where, func(t *testing.T) {
			// On a busy machine, processes may need longer to get there.
			for timeout := 500 * time.Millisecond; ; timeout *= 4 {
				require.Less(t, timeout, 2*waitMax)
				r := newRun(t, 2, "wait")
				r.cfg.Label = false
				if where == "on hosts" {
					r.onHosts(1)
				}
				r.cfg.Timeout = timeout
				r.start().wait().check(CodeTimeout, fmt.Sprintf(`^the job has run for %v, the time-out: it is ended$`, timeout))
				if strings.Count(r.out.String(), "waits") < 2 {
					continue
				}
				for rank := range 2 {
					assert.Regexp(t, fmt.Sprintf(`(?m)^\[%d\] SIGQUIT: quit`, rank), r.err.String())
					assert.Regexp(t, fmt.Sprintf(`(?m)^\[%d\] .*launch\.wait\(`, rank), r.err.String())
				}
				return
			}
		})
	}
}

func TestSpawnOnHosts(t *testing.T) {
	r := newRun(t, 3, "spawn").onHosts(1).start().wait()
	r.check(0)
	lines := sortedLines(r.out.String())
	require.Len(t, lines, 3, "%q", lines)
	secret := lines[0][strings.LastIndex(lines[0], " "):]
	assert.Equal(t, []string{
		"[0] spawned [0 0] <nil>" + secret,
		"[1.0] child 0 of 2 has us:1 [a b c=d] <nil>" + secret,
		"[1.1] child 1 of 2 has us:1 [a b c=d] <nil>" + secret,
	}, lines)

	r = newRun(t, 1, "spawn half").onHosts(1).start().wait()
	r.check(0)
	assert.Contains(t, r.out.String(), `there is no no-such-program in PATH`)
	assert.Contains(t, r.out.String(), fmt.Sprintf(`a host has at most %d`, processesMax))
}

func TestProgramsThatCannotBeStartedOnHosts(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text")
	require.NoError(t, os.WriteFile(text, []byte("no program"), 0o755))
	for _, c := range []struct {
		p    Program
		want error
		text string
	}{
		{Program{N: 3, Path: "no-such-program"}, ErrNotFound, "there is no no-such-program in PATH"},
		{Program{N: 3, Path: "./no-such-program"}, ErrNotFound, "there is no file"},
		{Program{N: 3, Path: text}, ErrNotExecutable, "not a program for this machine"},
		{Program{N: 3, Path: "true", Dir: "/no/such"}, ErrDirectory, "/no/such"},
	} {
		r := newRun(t, 1, "wait").onHosts(1)
		r.cfg.Programs = []Program{c.p}
		_, err := Run(context.Background(), r.cfg)
		assert.ErrorIs(t, err, c.want)
		assert.ErrorContains(t, err, c.text)
	}
}

// TestHostsThatCannotBeReached: the command that starts agents fails, and says why, or is missing.
func TestHostsThatCannotBeReached(t *testing.T) {
	for text, want := range map[string]string{
		"#!/bin/sh\necho Permission denied >&2\nexit 255\n": `^host \w cannot be reached \(Permission denied\), and with it \d process`,
		"": `^host \w cannot be reached \(.*no such file.*`,
	} {
		shell := filepath.Join(t.TempDir(), "none")
		if text != "" {
			shell = script(t, text)
		}
		r := newRun(t, 3, "wait").onHosts(1)
		r.cfg.Hosts.Shell = []string{shell}
		var last string
		r.cfg.Report = func(sentence string) {
			if strings.HasPrefix(sentence, "host ") {
				last = sentence
			}
		}
		r.start().wait()
		assert.Equal(t, CodeFailed, r.code)
		assert.Regexp(t, want, last)
	}
}

func TestAnAgentOfAnotherVersion(t *testing.T) {
	in, err := wire.Append(nil, &wire.Hello{Version: 99, Node: 1, Arity: 1, Nodes: 2})
	require.NoError(t, err)
	for text, want := range map[string]string{string(in): "install the same release everywhere", "GET / HTTP/1.0\r\n\r\n": "malformed", "": "EOF"} {
		cmd := exec.Command("/proc/self/exe", agentArgument)
		cmd.Stdin = strings.NewReader(text)
		out, err := cmd.CombinedOutput()
		require.Error(t, err)
		assert.Contains(t, string(out), want)
		assert.True(t, strings.HasPrefix(string(out), wire.Magic), "%q", out)
	}
}

func TestOutputFiles(t *testing.T) {
	for _, where := range []string{"here", "on hosts"} {
		t.Run(where, func(t *testing.T) {
			dir := t.TempDir()
			r := newRun(t, 2, "echo")
			if where == "on hosts" {
				r.onHosts(1)
			}
			r.cfg.Label = false
			r.cfg.OutputFile, r.cfg.ErrorFile = filepath.Join(dir, "%g/out.%r"), filepath.Join(dir, "100%%")
			r.cfg.Stdin = strings.NewReader("input\n")
			r.start().wait().check(0)
			text, err := os.ReadFile(filepath.Join(dir, "0/out.0"))
			require.NoError(t, err)
			assert.Equal(t, "input\n", string(text))
			text, err = os.ReadFile(filepath.Join(dir, "100%"))
			require.NoError(t, err)
			assert.Equal(t, []string{"bytes 0", "bytes 6"}, sortedLines(string(text)), "a file that two share")
			assert.Empty(t, r.out.String()+r.err.String())
		})
	}
	r := newRun(t, 1, "echo")
	r.cfg.OutputFile = "/proc/no/such"
	r.cfg.Stdin = strings.NewReader("input\n")
	r.start().wait().check(0, "the output of a process goes to the usual place: ")
	assert.Equal(t, "[0] input\n", r.out.String())
}

func TestBindings(t *testing.T) {
	for _, kind := range []string{"core", "hwthread", "socket", "numa"} {
		r := newRun(t, 3, "echo")
		r.cfg.Bind, r.cfg.ReportBindings = kind, true
		var said []string
		r.cfg.Report = func(sentence string) { said = append(said, sentence) }
		r.start().wait()
		require.Len(t, said, 3)
		b, err := newBinding(kind)
		require.NoError(t, err)
		for i, s := range said {
			assert.Regexp(t, fmt.Sprintf(`^rank %d \(process \d+\) is bound to processors %s$`, i, describe(b.of(i))), s)
		}
	}
	r := newRun(t, 1, "echo")
	r.cfg.ReportBindings = true
	r.start().wait().check(0, `^rank 0 \(process \d+\) is not bound$`)

	r = newRun(t, 3, "echo").onHosts(1)
	r.cfg.Programs = []Program{{N: 3, Path: "grep", Args: []string{"Cpus_allowed_list", "/proc/self/status"}}}
	r.cfg.Bind, r.cfg.Label = "hwthread", false
	r.start().wait().check(0)
	b, err := newBinding("hwthread")
	require.NoError(t, err)
	assert.Equal(t, strings.Repeat("Cpus_allowed_list:\t"+describe(b.of(0))+"\n", 3), r.out.String(), "the first on each host")

	_, err = newBinding("moon")
	assert.ErrorIs(t, err, ErrBind)
	var all unix.CPUSet
	for _, cpu := range []int{0, 1, 2, 8, 10, 11} {
		all.Set(cpu)
	}
	assert.Equal(t, "0-2,8,10-11", describe(&all))
}

// TestNothingIsLeft: when the launcher or an agent is killed, all processes of the job end, and all
// agents, although the processes ignore SIGTERM and have children. The agents are in a row.
func TestNothingIsLeft(t *testing.T) {
	for victim := range 4 {
		for what, count := range map[string]int{"stubborn": 3, "grandchild": 3} {
			t.Run(fmt.Sprintf("%s, victim %d", what, victim), func(t *testing.T) {
				t.Parallel() // it waits, most of the time
				cmd := exec.Command("/proc/self/exe")
				cmd.Env = append(os.Environ(), runVariable+"="+what, shellVariable+"="+shellOf(t))
				out, err := cmd.StdoutPipe()
				require.NoError(t, err)
				require.NoError(t, cmd.Start())
				t.Cleanup(func() { _ = cmd.Process.Kill() })
				var text strings.Builder
				for lines := bufio.NewScanner(out); strings.Count(text.String(), "waits") < 3 && lines.Scan(); {
					text.WriteString(lines.Text() + "\n")
				}
				require.Len(t, pidsIn(text.String()), count, "%s", text.String())
				chain := []int{cmd.Process.Pid}
				for range 3 {
					chain = append(chain, agentsOf(t, chain[len(chain)-1])...)
				}
				require.Len(t, chain, 4, "the launcher and three agents")
				require.NoError(t, unix.Kill(chain[victim], unix.SIGKILL))
				require.Error(t, cmd.Wait())
				gone(t, pidsIn(text.String()))
				gone(t, chain[1:])
			})
		}
	}
}

// TestTheLossOfAHost: it ends the job, or with KeepGoing the others go on.
func TestTheLossOfAHost(t *testing.T) {
	for keepGoing, want := range map[bool]string{
		false: `^host b is lost \(its connection has ended\), and with it 1 process: the 2 other processes are ended, too$`,
		true:  `^host b is lost \(its connection has ended\), and with it 1 process$`,
	} {
		r := newRun(t, 3, "outlast").onHosts(1)
		r.cfg.KeepGoing, r.cfg.Hosts.Arity = keepGoing, 3
		r.start().until(3, "waits")
		i := strings.Index(r.out.String(), "[1] pid ")
		require.GreaterOrEqual(t, i, 0)
		rank := pidsIn(r.out.String()[i:])[0]
		require.NoError(t, unix.Kill(parentOf(t, rank), unix.SIGKILL))
		r.wait().check(CodeFailed, want)
		assert.Equal(t, map[bool]int{true: 2}[keepGoing], strings.Count(r.out.String(), "survived"))
	}
}

// parentOf returns the parent of a process.
func parentOf(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	require.NoError(t, err)
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	parent, err := strconv.Atoi(fields[1])
	require.NoError(t, err)
	return parent
}

func TestHostsThatDoNotAnswer(t *testing.T) {
	r := newRun(t, 3, "wait").onHosts(1)
	r.cfg.Hosts.Shell = []string{script(t, "#!/bin/sh\n[ $1 = b ] && exec sleep 1000\nshift\nexec \"$@\"\n")}
	r.cfg.Hosts.ReachTimeout, r.cfg.Grace = 300*time.Millisecond, 200*time.Millisecond
	r.start().wait().check(CodeTimeout, `^no answer came from (a, )?b, or from a host behind, within 300ms: the job is ended`)
}

func TestFlush(t *testing.T) {
	read, write, err := os.Pipe()
	require.NoError(t, err)
	l := newLink(write)
	l.flush(waitMax)
	require.NoError(t, l.send(&wire.Up{}))
	l.flush(waitMax)
	l.close()
	<-l.ended
	text, err := io.ReadAll(read)
	require.NoError(t, err)
	assert.Len(t, text, wire.HeadBytes+1)
	l.flush(waitMax)
	assert.ErrorIs(t, l.send(&wire.Up{}), io.ErrClosedPipe)
	require.NoError(t, read.Close())
}

// agentsOf returns the agents that a process has started.
func agentsOf(t *testing.T, pid int) (agents []int) {
	t.Helper()
	for _, child := range childrenOf(t, pid) {
		words, err := os.ReadFile("/proc/" + strconv.Itoa(child) + "/cmdline")
		if err == nil && strings.Contains(string(words), agentArgument) {
			agents = append(agents, child)
		}
	}
	return agents
}

// A reader that does not read stops the output of a job, and not its messages.
func TestOutputThatIsNotRead(t *testing.T) {
	r := newRun(t, 3, "exchange").onHosts(1)
	r.cfg.Programs = []Program{{N: 3, Path: "sh", Args: []string{"-c", "yes | head -c 3000000; echo"}}}
	r.cfg.Label = false
	w := &held{open: make(chan struct{})}
	r.cfg.Stdout = w
	r.start()
	close(w.open)
	r.wait().check(0)
	assert.Equal(t, 3*3000001, w.bytes)
}

// held is a writer that waits until it is opened.
type held struct {
	open  chan struct{}
	bytes int
}

func (h *held) Write(b []byte) (int, error) {
	<-h.open
	h.bytes += len(b)
	return len(b), nil
}
