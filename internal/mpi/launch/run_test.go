package launch

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func sortedLines(text string) []string {
	lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(text), "\n"), func(l string) bool { return strings.Contains(l, "pid ") })
	slices.Sort(lines)
	return lines
}

func TestRanksFindEachOther(t *testing.T) {
	r := newRun(t, 3, "exchange")
	r.cfg.Programs = append(r.cfg.Programs, program(t, 2, "exchange"))
	r.start().wait().check(0)
	assert.Equal(t, []string{
		"[0] v0 v1 v2 v3 v4 <nil> 0 false 32", "[1] v0 v1 v2 v3 v4 <nil> 0 false 32", "[2] v0 v1 v2 v3 v4 <nil> 0 false 32",
		"[3] v0 v1 v2 v3 v4 <nil> 1 false 32", "[4] v0 v1 v2 v3 v4 <nil> 1 false 32",
	}, sortedLines(r.out.String()))
}

func TestTheNameOfAProgramIsTheUsersOne(t *testing.T) {
	r := newRun(t, 1, "wait")
	r.cfg.Programs = []Program{{N: 1, Path: "cat", Args: []string{"/proc/self/cmdline"}}}
	r.start().wait().check(0)
	assert.Equal(t, "[0] cat\x00/proc/self/cmdline\x00\n", r.out.String())
}

func TestStdinGoesToRank0(t *testing.T) {
	r := newRun(t, 2, "echo")
	text := strings.Repeat("a line\n", 50000)
	r.cfg.Stdin, r.cfg.Label = strings.NewReader(text), false
	r.start().wait().check(0)
	assert.Equal(t, text, r.out.String())
	assert.Equal(t, []string{"bytes 0", "bytes 350000"}, sortedLines(r.err.String()))
}

func TestEnvironment(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	r := newRun(t, 2, "environment")
	r.cfg.Env = []string{"A=1", "B=2", "PMI_PORT=host:1", "PMI_RANK=no-number", "VIADUCT_JOB_KEY=old", "PATH=" + os.Getenv("PATH")}
	r.cfg.Programs[0].Env = append(r.cfg.Programs[0].Env, "B=3")
	r.cfg.Programs[0].Dir = dir
	r.start().wait().check(0)
	out := r.out.String()
	for _, line := range []string{"[0] A=1", "[1] B=3", "[0] PMI_RANK=0", "[1] PMI_RANK=1", "[1] PMI_SIZE=2", "[1] PMI_FD=3", "[1] MPI_LOCALRANKID=1", "[0] dir " + dir} {
		assert.Contains(t, out, line+"\n")
	}
	for _, text := range []string{"B=2", "PMI_PORT", "no-number", "=old", "PMI_SPAWNED"} {
		assert.NotContains(t, out, text)
	}
	assert.Regexp(t, `\[0\] VIADUCT_JOB_KEY=[0-9a-f]{64}\n`, out)
	assert.Regexp(t, `\[0\] VIADUCT_UDP_KEY=[0-9a-f]{64}\n`, out)
}

func TestKeysOfTheUser(t *testing.T) {
	for set, want := range map[string][]string{
		"VIADUCT_UDP_KEY_FILE=f": {"VIADUCT_JOB_KEY=[0-9a-f]{64}", "VIADUCT_UDP_KEY_FILE=f"},
		"VIADUCT_UDP_INSECURE=1": {"VIADUCT_JOB_KEY=[0-9a-f]{64}", "VIADUCT_UDP_INSECURE=1"},
		"VIADUCT_JOB_KEY_FILE=f": {"VIADUCT_JOB_KEY_FILE=f", "VIADUCT_UDP_KEY_FILE=f"},
		"VIADUCT_UDP_KEY=":       {"VIADUCT_JOB_KEY=[0-9a-f]{64}", "VIADUCT_UDP_KEY=[0-9a-f]{64}"},
	} {
		r := newRun(t, 1, "environment")
		r.cfg.Env = []string{set}
		r.start().wait().check(0)
		keys := slices.DeleteFunc(sortedLines(r.out.String()), func(l string) bool { return !strings.HasPrefix(l, "[0] VIADUCT_") })
		require.Len(t, keys, len(want), "%s: %q", set, keys)
		for i, w := range want {
			assert.Regexp(t, `^\[0\] `+w+"$", keys[i], set)
		}
	}
}

func TestWhatHappensToTheOthers(t *testing.T) {
	for what, want := range map[string]struct {
		code     int
		sentence string
	}{
		"die":          {137, `^rank 1 \(process \d+\) was killed by signal 9 \(SIGKILL\): the 3 other processes are ended, too$`},
		"fail":         {7, `^rank 1 \(process \d+\) ended with exit code 7: the 3 other processes are ended, too$`},
		"desert":       {1, `^rank 1 \(process \d+\) ended with exit code 0 without calling Finalize: the 3 other processes are ended, too$`},
		"desert alone": {1, `^rank \d \(process \d+\) ended with exit code 0 without calling Finalize`},
		"abort":        {9, `^rank 1 \(process \d+\) aborted the job with exit code 9: "enough : enough"$`},
		"gone early":   {1, `^rank \d \(process \d+\) ended with exit code 0 without calling Init, which others have called`},
		"babble":       {1, `^rank \d \(process \d+\) breaks the rules of PMI, so the job is ended: rank \d of viaduct_\w+: malformed PMI command: "frobnicate" is no command of PMI-1$`},
	} {
		t.Run(what, func(t *testing.T) {
			r := newRun(t, 4, what).start().wait()
			r.check(want.code, want.sentence)
			assert.NotContains(t, r.out.String(), "goes on")
		})
	}
}

func TestCodesAfterFinalizeAreHandedOn(t *testing.T) {
	r := newRun(t, 2, "fail late")
	r.start().wait().check(10, `^rank 1 \(process \d+\) ended with exit code 10$`)
}

func TestARankThatNeverCallsInit(t *testing.T) {
	r := newRun(t, 3, "never init")
	r.cfg.InitTimeout = 100 * time.Millisecond
	r.start().wait().check(CodeTimeout, `^ranks 1, 2 have not called Init within 100ms, and the others wait for that: the job is ended`)
}

func TestTimeout(t *testing.T) {
	r := newRun(t, 2, "wait")
	r.cfg.Timeout = 300 * time.Millisecond
	r.start().wait().check(CodeTimeout, `^the job has run for 300ms, the time-out: it is ended$`)
}

func TestTheStubbornAreKilled(t *testing.T) {
	r := newRun(t, 2, "stubborn")
	r.cfg.Grace = 200 * time.Millisecond
	r.start().until(2, "waits")
	r.signals <- unix.SIGTERM
	r.wait().check(137)
}

func TestASecondSignalKillsAtOnce(t *testing.T) {
	r := newRun(t, 2, "stubborn").start()
	r.until(2, "waits")
	r.signals <- unix.SIGINT
	r.signals <- unix.SIGINT
	r.wait().check(137)
}

func TestSignalsAreHandedOn(t *testing.T) {
	r := newRun(t, 3, "wait").start()
	r.until(3, "waits")
	r.signals <- unix.SIGUSR1
	r.until(3, "got user defined signal 1")
	r.signals <- unix.SIGTERM
	r.wait().check(CodeSignal + int(unix.SIGTERM))

	r = newRun(t, 2, "handle").start()
	r.until(2, "waits")
	r.signals <- unix.SIGINT
	r.wait().check(0)
	r.until(2, "got interrupt")
}

// TestTheSignalIsTheCause: the job's exit code names the user's signal, although processes end with
// other codes because of it.
func TestTheSignalIsTheCause(t *testing.T) {
	r := newRun(t, 2, "consequence")
	r.cfg.Programs[0].Dir = t.TempDir()
	r.start().until(2, "waits")
	r.signals <- unix.SIGTERM
	r.wait().check(CodeSignal + int(unix.SIGTERM))
}

func TestTheEndOfTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	r := newRun(t, 2, "wait")
	go func() {
		defer close(r.ended)
		r.code, r.failure = Run(ctx, r.cfg)
	}()
	r.until(2, "waits")
	cancel()
	r.wait().check(CodeFailed)
}

func TestSpawn(t *testing.T) {
	r := newRun(t, 2, "spawn").start().wait()
	r.check(0)
	lines := sortedLines(r.out.String())
	require.Len(t, lines, 3, "%q", lines)
	secret := lines[0][strings.LastIndex(lines[0], " "):]
	assert.Equal(t, []string{
		"[0] spawned [0 0] <nil>" + secret,
		"[1.0] child 0 of 2 has us:1 [a b c=d] <nil>" + secret,
		"[1.1] child 1 of 2 has us:1 [a b c=d] <nil>" + secret,
	}, lines)
}

func TestSpawnOfNothing(t *testing.T) {
	r := newRun(t, 1, "spawn none").start().wait()
	r.check(0)
	assert.Contains(t, r.out.String(), `program not found: there is no no-such-program in PATH`)
	assert.Contains(t, r.out.String(), fmt.Sprintf(`a job has at most %d`, processesMax))
}

func TestTheOthersMayGoOn(t *testing.T) {
	r := newRun(t, 3, "survive")
	r.cfg.KeepGoing = true
	r.start().wait().check(137, `^rank 1 \(process \d+\) was killed by signal 9 \(SIGKILL\)$`)
	assert.Equal(t, 2, strings.Count(r.out.String(), "survived"))
}

func TestWhatARankLeavesBehindIsKilled(t *testing.T) {
	r := newRun(t, 2, "grandchild")
	r.cfg.Programs[0].Env = append(r.cfg.Programs[0].Env, "END=1")
	r.start().wait().check(0)
	assert.Len(t, r.pids(), 2)
}

func TestLongLines(t *testing.T) {
	r := newRun(t, 1, "long lines").start().wait()
	x := strings.Repeat("x", lineBytesMax)
	assert.Equal(t, "[0] "+x+"\n[0] "+x+"\n[0] "+x+"\n[0] end\n[0] next\n[0] no end\n", r.out.String())

	r = newRun(t, 1, "long lines")
	r.cfg.Label = false
	r.start().wait()
	assert.Equal(t, x+x+x+"end\nnext\nno end", r.out.String())
}

func TestTheLastWordsOfTheDead(t *testing.T) {
	r := newRun(t, 2, "last words").start().wait()
	assert.Contains(t, r.out.String(), "the last line\n")
}

func TestProgramsThatCannotBeStarted(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	require.NoError(t, os.WriteFile(text, []byte("no program"), 0o755))
	t.Chdir(dir)
	plain := filepath.Join(dir, "plain")
	require.NoError(t, os.WriteFile(plain, []byte("x"), 0o644))
	for _, c := range []struct {
		p    Program
		want error
		text string
	}{
		{Program{N: 0, Path: "true"}, ErrCount, "0 processes of true"},
		{Program{N: processesMax + 1, Path: "true"}, ErrCount, "but 1 to"},
		{Program{N: 1, Path: "no-such-program"}, ErrNotFound, "there is no no-such-program in PATH"},
		{Program{N: 1, Path: "./no-such-program"}, ErrNotFound, "there is no file ./no-such-program"},
		{Program{N: 1, Path: "plain"}, ErrNotFound, "there is one here: write ./plain"},
		{Program{N: 1, Path: plain}, ErrNotExecutable, "chmod +x"},
		{Program{N: 1, Path: dir}, ErrNotExecutable, dir},
		{Program{N: 3, Path: text}, ErrNotExecutable, "not a program for this machine"},
		{Program{N: 1, Path: script(t, "#!/no/such/shell\n")}, ErrNotExecutable, "interpreter"},
		{Program{N: 1, Path: "true", Dir: plain}, ErrDirectory, plain},
	} {
		code, err := Run(context.Background(), Config{Programs: []Program{c.p}})
		assert.Equal(t, CodeFailed, code)
		assert.ErrorIs(t, err, c.want)
		assert.ErrorContains(t, err, c.text)
	}
	_, err := Run(context.Background(), Config{})
	assert.ErrorIs(t, err, ErrCount)
	// The processes that were started before the failure are ended.
	r := newRun(t, 2, "wait")
	r.cfg.Programs = append(r.cfg.Programs, Program{N: 1, Path: text})
	_, err = Run(context.Background(), r.cfg)
	assert.ErrorIs(t, err, ErrNotExecutable)
}

// A descendant out of reach does not keep the job from ending: neither by writing, nor by not
// reading answers.
func TestDaemonsDoNotKeepTheJob(t *testing.T) {
	t.Parallel() // it waits, most of the time
	for _, what := range []string{"daemon", "deaf daemon"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			r := newRun(t, 1, what)
			t.Cleanup(func() {
				for _, pid := range r.pids() {
					_ = unix.Kill(pid, unix.SIGKILL) // it has ended, unless the test failed
				}
			})
			r.start().wait().check(0)
		})
	}
}
