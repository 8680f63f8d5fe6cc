package jobtest

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/mpi/launch"
	"github.com/viaduct-hpc/viaduct/internal/mpi/launch/command"
	"github.com/viaduct-hpc/viaduct/internal/mpi/pmi"
	_ "github.com/viaduct-hpc/viaduct/methods/tcp" // tcp
	_ "github.com/viaduct-hpc/viaduct/methods/via" // via+shm, via+udp
	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/plugins"
)

// Variables that make this test binary the launcher, or a process of a job.
const (
	launcherVariable = "JOBTEST_LAUNCHER"
	programVariable  = "JOBTEST_PROGRAM"
	pluginVariable   = "JOBTEST_PLUGIN" // the file of a plugin that a process loads
	shortVariable    = "JOBTEST_SHORT"  // "true" if the test runs with -short
)

func TestMain(m *testing.M) {
	launch.BecomeGuard()
	if os.Getenv(launcherVariable) != "" {
		_ = os.Unsetenv(launcherVariable)
		os.Exit(command.Main(context.Background(), os.Args[1:]))
	}
	if name := os.Getenv(programVariable); name != "" {
		roles[name](&checker{})
		os.Exit(0)
	}
	// With the race detector, a process sleeps for a second before it ends.
	_ = os.Setenv("GORACE", "atexit_sleep_ms=0")
	code := m.Run()
	_ = os.RemoveAll(builds.dir) // "" is none
	os.Exit(code)
}

// bg is the context of calls that nothing ends.
var bg = context.Background()

// roles are the programs of jobs, which check their own results.
var roles map[string]func(t *checker)

func init() {
	roles = map[string]func(t *checker){
		"everything":     inJob(everything),
		"bad input":      inJob(badInput),
		"outlive":        inJob(outlive),
		"stand by":       inJob(standBy),
		"lose one":       inJob(loseOne),
		"for ever":       inJob(forEver),
		"abort":          inJob(abort),
		"fatal":          inJob(fatal),
		"pending":        pending,
		"never init":     neverInit,
		"late init":      lateInit,
		"not init":       notInit,
		"cannot":         cannot,
		"init by itself": initByItself,
		"wrong":          inJob(wrong),
		"leave behind":   inJob(leaveBehind),
		"windows":        inJob(windows),
		"files":          inJob(files),
	}
}

// programTimeMax is how long a process may take; the machine may be busy with other tests.
const programTimeMax = 90 * time.Second

// A checker replaces a *testing.T for package require in these programs.
type checker struct{ failed atomic.Bool }

// Exit codes of processes that found an error.
const (
	failedCode  = 90 // and could not go on
	faultCode   = 91 // and went on
	timeoutCode = 92
)

// Errorf implements require.TestingT.
func (c *checker) Errorf(format string, args ...any) {
	c.failed.Store(true)
	fmt.Fprintf(os.Stderr, format+"\n", args...)
}

// FailNow implements require.TestingT.
func (c *checker) FailNow() { os.Exit(failedCode) }

// inJob returns a program that runs fn between Init and Finalize.
func inJob(fn func(t *checker, p *mpi.Process)) func(*checker) {
	return func(t *checker) {
		// A process that hangs prints its stacks.
		defer time.AfterFunc(programTimeMax, func() { panic("the program takes too long") }).Stop()
		ctx := context.Background()
		p := initProcess(ctx, t)
		fn(t, p)
		if err := p.Finalize(ctx); err != nil {
			t.Errorf("Finalize: %v", err)
		}
		if t.failed.Load() {
			os.Exit(faultCode)
		}
	}
}

// initProcess is Init, with the plugin of the process.
func initProcess(ctx context.Context, t *checker) *mpi.Process {
	if path := os.Getenv(pluginVariable); path != "" {
		_, err := plugins.Load(ctx, path, plugins.Options{
			Names: map[string]string{"via+shm": farMethod, "via+udp": "far-udp"},
			Env:   []string{"VIADUCT_SHM_DIR=" + os.Getenv("VIADUCT_SHM_DIR")},
		})
		if err != nil {
			t.Errorf("plugins.Load: %v", err)
			t.FailNow()
		}
	}
	key := os.Getenv(pmi.KeyEnv)
	p, err := mpi.Init(ctx, mpi.Options{Endpoint: bmi.Config{}})
	if err != nil {
		t.Errorf("Init: %v", err)
		t.FailNow()
	}
	noKeyLeft(t, key)
	return p
}

// noKeyLeft checks that programs which this one starts do not inherit the job's key.
func noKeyLeft(t *checker, key string) {
	for _, pair := range os.Environ() {
		if name, value, _ := strings.Cut(pair, "="); key != "" && value == key {
			t.Errorf("the key of the job is still in %s", name)
		}
	}
}
