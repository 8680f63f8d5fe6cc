package trace

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/environ"
)

// Version is the version of the format, in the header of each file.
const Version = "1"

// HeaderName is the name of the first event of each file.
const HeaderName = "viaduct_trace"

// A Process is what the header of a file says. Times are those at which the clock of the trace was 0: Wall is the time of day,
// and Monotonic the time since the machine, named by Boot, was started. Files of one machine are joined by the latter.
type Process struct {
	PID       int
	Rank      string // "" if the process has none
	Host      string
	Boot      string
	Program   string
	Wall      int64 // ns since 1970
	Monotonic int64 // ns
}

// ThisProcess describes this process, for a clock that starts now.
func ThisProcess() Process {
	p := Process{PID: os.Getpid(), Rank: rank(os.Getenv), Program: filepath.Base(os.Args[0]), Wall: time.Now().UnixNano()}
	p.Host, _ = os.Hostname()
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // without it, the file counts as one of another machine
	p.Boot = strings.TrimSpace(string(boot))
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) == nil {
		p.Monotonic = now.Nano()
	}
	return p
}

// Title names the process for people.
func (p *Process) Title() string {
	if p.Rank != "" {
		return "rank " + p.Rank + " " + p.Program + " on " + p.Host
	}
	return p.Program + " on " + p.Host
}

// header is the first event of a file. Numbers that do not fit into a float64 are text.
func (p *Process) header() []byte {
	b := appendMeta([]byte("\n"), HeaderName, func(b []byte) []byte {
		b = append(b, `,"pid":`...)
		return append(strconv.AppendInt(b, int64(p.PID), 10), `,"tid":0`...)
	}, "version", Version, "wall_ns", strconv.FormatInt(p.Wall, 10), "monotonic_ns", strconv.FormatInt(p.Monotonic, 10),
		"boot", p.Boot, "host", p.Host, "rank", p.Rank, "program", p.Program)
	return b
}

// rankVariables tell a process its rank: those of PMI-1 and PMI-2, PMIx, Slurm and Open MPI.
var rankVariables = []string{"PMI_RANK", "PMI_ID", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"}

// rank is the rank of this process, as its launcher says; "" if there is none. Ranks of spawned processes begin at 0 again.
func rank(getenv func(string) string) string {
	for _, name := range rankVariables {
		if n, err := strconv.Atoi(getenv(name)); err == nil && n >= 0 {
			if getenv("PMI_SPAWNED") == "1" {
				return strconv.Itoa(n) + "-spawned-" + strconv.Itoa(os.Getpid())
			}
			return strconv.Itoa(n)
		}
	}
	return ""
}

// Variable names the file of a process's trace, with %r for its rank, %h for its host, %p for its number, and %% for %.
const Variable = "VIADUCT_TRACE"

// process is the trace of this process, by the environment.
var process = sync.OnceValues(func() (*Trace, error) {
	if pattern := environ.Getenv(Variable); pattern != "" {
		return CreatePattern(Variable, pattern)
	}
	return nil, nil
})

// OfProcess returns the trace that the environment names, always the same; nil if it names none. An error means that the
// environment is wrong.
func OfProcess() (*Trace, error) { return process() }

type contextKey struct{}

// With returns a context with a trace, for the endpoints that are opened with it.
func With(ctx context.Context, t *Trace) context.Context {
	return context.WithValue(ctx, contextKey{}, t)
}

// From returns the trace of a context; nil if it has none.
func From(ctx context.Context) *Trace {
	t, _ := ctx.Value(contextKey{}).(*Trace)
	return t
}
