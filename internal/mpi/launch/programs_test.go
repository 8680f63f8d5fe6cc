package launch

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/mpi/pmi"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
)

// programs are the programs of the tests' jobs; each returns its exit code.
var programs map[string]func() int

func init() {
	programs = map[string]func() int{
		"exchange":     withPMI(exchange),
		"echo":         echo,
		"environment":  environment,
		"die":          withPMI(one(func(pmi.Client) int { _ = unix.Kill(os.Getpid(), unix.SIGKILL); return 0 })),
		"fail":         withPMI(one(func(pmi.Client) int { return 7 })),
		"desert":       withPMI(one(func(pmi.Client) int { return 0 })),
		"desert alone": withPMI(func(context.Context, pmi.Client) int { return 0 }),
		"abort":        withPMI(one(func(c pmi.Client) int { fmt.Println(c.Abort(9, "enough = enough")); return 0 })),
		"never init":   neverInit(false),
		"gone early":   neverInit(true),
		"fail late":    withPMI(failLate),
		"wait":         wait,
		"stubborn":     stubborn,
		"handle":       handle,
		"consequence":  consequence,
		"babble":       babble,
		"spawn":        withPMI(spawnSome),
		"spawn none":   withPMI(spawnNone(processesMax)),
		"spawn half":   withPMI(spawnNone(4 * processesMax)),
		"grandchild":   grandchild,
		"daemon":       daemon(false),
		"deaf daemon":  daemon(true),
		"survive":      withPMI(survive),
		"outlast":      withPMI(outlast),
		"long lines":   longLines,
		"last words":   lastLine,
	}
}

// consequence dies by the signal that it gets. Rank 0, however, fails, and ends before another is
// dead: a process may learn of such a death before it gets the signal itself.
func consequence() int {
	got := make(chan os.Signal, 1)
	signal.Notify(got, unix.SIGTERM)
	first := os.Getenv("PMI_RANK") == "0"
	if first {
		if err := os.WriteFile("first", []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
			return 51
		}
	}
	fmt.Println("waits")
	<-got
	if first {
		return 90
	}
	text, _ := os.ReadFile("first")
	pid, err := strconv.Atoi(string(text))
	if err != nil {
		return 52
	}
	for unix.Kill(pid, 0) == nil { // until mpiexec has reaped it; a pidfd would only report that it has ended
		time.Sleep(time.Millisecond)
	}
	signal.Reset(unix.SIGTERM)
	_ = unix.Kill(os.Getpid(), unix.SIGTERM)
	wallclock.Forever()
	return 0
}

func withPMI(do func(context.Context, pmi.Client) int) func() int {
	return func() int {
		ctx, cancel := context.WithTimeout(context.Background(), waitMax)
		defer cancel()
		fmt.Println("pid", os.Getpid())
		c, ok, err := pmi.FromEnvironment(ctx)
		if err != nil || !ok {
			fmt.Println("not connected:", ok, err)
			return 50
		}
		defer func() { _ = c.Close() }()
		return do(ctx, c)
	}
}

// one makes rank 1 run do, after all have arrived, while the others wait in a fence.
func one(do func(pmi.Client) int) func(context.Context, pmi.Client) int {
	return func(ctx context.Context, c pmi.Client) int {
		if err := c.Fence(ctx); err != nil {
			return 51
		}
		if c.Rank() == 1 {
			return do(c)
		}
		fmt.Println("goes on:", c.Fence(ctx))
		return 0
	}
}

func exchange(ctx context.Context, c pmi.Client) int {
	err := c.Put(ctx, fmt.Sprintf("k%d", c.Rank()), fmt.Sprintf("v%d", c.Rank()))
	if err == nil {
		err = c.Fence(ctx)
	}
	var all []string
	for r := 0; r < c.Size() && err == nil; r++ {
		var v string
		v, err = c.Get(ctx, fmt.Sprintf("k%d", r))
		all = append(all, v)
	}
	fmt.Println(strings.Join(all, " "), err, c.AppNum(), c.Parent(), len(c.Secret()))
	if c.Finalize(ctx) != nil {
		return 52
	}
	return 0
}

func echo() int {
	n, _ := io.Copy(os.Stdout, os.Stdin)
	fmt.Fprintln(os.Stderr, "bytes", n)
	return 0
}

func environment() int {
	dir, _ := os.Getwd()
	fmt.Println("dir", dir)
	for _, pair := range os.Environ() {
		fmt.Println(pair)
	}
	return 0
}

// neverInit makes rank 0 call Init; the others wait, or end without it.
func neverInit(end bool) func() int {
	return func() int {
		fmt.Println("pid", os.Getpid())
		if os.Getenv(pmi.RankEnv) == "0" {
			return withPMI(func(ctx context.Context, c pmi.Client) int { _ = c.Fence(ctx); return 0 })()
		}
		if !end {
			wallclock.Forever()
		}
		return 0
	}
}

func failLate(ctx context.Context, c pmi.Client) int {
	if c.Finalize(ctx) != nil {
		return 53
	}
	return 10 * c.Rank()
}

func wait() int {
	fmt.Println("pid", os.Getpid())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGUSR1)
	fmt.Println("waits")
	fmt.Println("got", <-signals)
	wallclock.Forever()
	return 0
}

func stubborn() int {
	signal.Ignore(unix.SIGTERM, unix.SIGINT)
	fmt.Println("pid", os.Getpid())
	fmt.Println("waits")
	wallclock.Forever()
	return 0
}

// handle ends in good order on a signal.
func handle() int {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGINT, unix.SIGTERM)
	fmt.Println("waits")
	fmt.Println("got", <-signals)
	return 0
}

// babble sends something that is not PMI.
func babble() int {
	f := os.NewFile(pmiFD, "pmi")
	_, _ = f.WriteString("cmd=init pmi_version=1 pmi_subversion=1\ncmd=frobnicate\n")
	wallclock.Forever()
	return 0
}

func spawnSome(ctx context.Context, c pmi.Client) int {
	if c.Parent() {
		v, err := c.Get(ctx, "PARENT")
		fmt.Println("child", c.Rank(), "of", c.Size(), "has", v, os.Args[1:], err, hex.EncodeToString(c.Secret()))
		if c.Finalize(ctx) != nil {
			return 54
		}
		return 0
	}
	if c.Rank() == 0 {
		codes, err := c.Spawn(ctx, "/proc/self/exe", []string{"a b", "c=d"}, 2, map[string]string{"wdir": "/"}, map[string]string{"PARENT": "us:1"})
		fmt.Println("spawned", codes, err, hex.EncodeToString(c.Secret()))
	}
	if c.Finalize(ctx) != nil {
		return 55
	}
	return 0
}

// spawnNone asks for a program that does not exist, and for too many processes.
func spawnNone(many int) func(context.Context, pmi.Client) int {
	return func(ctx context.Context, c pmi.Client) int {
		_, err := c.Spawn(ctx, "no-such-program", nil, 2, nil, nil)
		fmt.Println(err)
		_, err = c.Spawn(ctx, "/proc/self/exe", nil, many, nil, nil)
		fmt.Println(err)
		if c.Finalize(ctx) != nil {
			return 56
		}
		return 0
	}
}

// grandchild starts another process in its group, which does not end by itself.
func grandchild() int {
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		return 57
	}
	fmt.Println("pid", cmd.Process.Pid)
	fmt.Println("waits")
	if os.Getenv(pmi.RankEnv) == "0" && os.Getenv("END") != "" {
		return 0 // and does not wait for it
	}
	if os.Getenv("END") != "" {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return 0
	}
	wallclock.Forever()
	return 0
}

// daemon leaves behind a process that signals to its group do not reach. It has all descriptors and
// writes a little from time to time. If deaf is set, it first sends requests without reading the
// answers.
func daemon(deaf bool) func() int {
	return func() int {
		words := os.NewFile(pmiFD, "pmi")
		cmd := exec.Command("sh", "-c", "while echo more; do sleep 0.02; done")
		cmd.Stdout, cmd.ExtraFiles = os.Stdout, []*os.File{words}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			return 60
		}
		fmt.Println("pid", cmd.Process.Pid)
		if !deaf {
			return 0
		}
		_ = unix.SetNonblock(pmiFD, true)
		many := bytes.Repeat([]byte("cmd=get_maxes\n"), 1000)
		for idle := 0; idle < 20; { // until no process reads any longer
			if n, _ := unix.Write(pmiFD, many); n <= 0 {
				idle++
				time.Sleep(10 * time.Millisecond)
			} else {
				idle, many = 0, append(many[n:], many[:n]...)
			}
		}
		return 0
	}
}

// survive loses rank 1, and the others go on.
func survive(ctx context.Context, c pmi.Client) int {
	if c.Rank() == 1 {
		_ = unix.Kill(os.Getpid(), unix.SIGKILL)
	}
	for range 3 {
		if c.Fence(ctx) != nil {
			return 58
		}
	}
	fmt.Println("survived")
	if c.Finalize(ctx) != nil {
		return 59
	}
	return 0
}

// outlast waits in a fence for rank 1, which never comes.
func outlast(ctx context.Context, c pmi.Client) int {
	fmt.Println("waits")
	if c.Rank() == 1 {
		wallclock.Forever()
	}
	if c.Fence(ctx) != nil {
		return 61
	}
	fmt.Println("survived")
	if c.Finalize(ctx) != nil {
		return 62
	}
	return 0
}

func longLines() int {
	_, _ = os.Stdout.Write(append(bytes.Repeat([]byte("x"), 3*lineBytesMax), "end\nnext\nno end"...))
	return 0
}

// lastLine writes as much as a pipe holds and exits.
func lastLine() int {
	_, _ = os.Stdout.WriteString(strings.Repeat(strings.Repeat("y", 99)+"\n", 600) + "the last line\n")
	_ = unix.Kill(os.Getpid(), unix.SIGKILL)
	return 0
}
