package methodtest

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// A Factory makes the subject of one test. Resources common to its endpoints (a simulated network, a
// directory) are made here, and removed with t.Cleanup.
type Factory func(t T) *Subject

// A Subject describes the method under test, as far as bmi.Info does not. Only Address is required.
type Subject struct {
	// Address returns the address of the endpoint called name, including the scheme. Names are words of
	// letters, digits and hyphens, at most 40 long, that no other running test uses. A method whose
	// addresses cannot be chosen freely (a port number) keeps a table.
	Address func(name string) string

	// Open opens an endpoint with cfg; the subject adds what its method needs (cfg.Options). nil means
	// bmi.Open.
	Open func(ctx context.Context, cfg bmi.Config) (*bmi.Endpoint, error)

	// Crash ends an endpoint without notice, as kill -9 does: its peers must notice by themselves. The
	// suite does not use the endpoint afterwards. nil: tests with crashes are skipped.
	Crash func(t T, e *bmi.Endpoint)

	// Restart replaces an endpoint by a new one under the same address. nil: closing the old one and
	// opening the new one is enough.
	Restart func(t T, e *bmi.Endpoint, cfg bmi.Config) *bmi.Endpoint

	// Fork starts a process that runs Serve, listening on Address(name), and returns when it listens.
	// ForkSelf is such a function. nil: tests with other processes are skipped.
	Fork func(t T, name string) Process

	// Ranges returns patterns for QueryAddrRange that match the endpoint called name, and others that
	// do not. nil: only the plain address is tried.
	Ranges func(name string) (inside, outside []string)

	// Step advances simulated time to the next event. With Step, every endpoint is opened with
	// Config.Manual and the suite uses one goroutine; tests of goroutines and sleeping are skipped.
	Step func()

	// OneWay: an endpoint that connects is not recognised by its listening address (plain TCP knows its
	// peer by a random port). The suite then answers only to addresses that came with a message.
	OneWay bool

	// HeadOfLine: a message over EagerSize whose receive is not posted yet blocks everything behind it
	// from the same sender (PVFS's TCP). The suite then does not rely on overtaking such a message.
	HeadOfLine bool

	// Seeds are the seeds of the random tests, for subjects that are made from a seed themselves. nil
	// means those of -sim.seeds and -sim.seed.
	Seeds []uint64

	// Timeout bounds every single wait. 0 means two minutes, and twenty for a method in simulated time,
	// which has its own limits.
	Timeout time.Duration

	// Skip gives, by test name, the requirements that the method does not meet, and why.
	Skip map[string]string
}

// A Process is a peer in another process.
type Process interface {
	// Kill ends it without notice and returns when it has ended.
	Kill()
	// Stop ends it in an orderly way.
	Stop() error
}

// defaultTimeout is generous because it passes only if something is broken, and machines that run tests
// are busy. Half of it is a minute: see prompt.
const defaultTimeout = 2 * time.Minute

func (s *Subject) timeout() time.Duration {
	switch {
	case s.Timeout > 0:
		return s.Timeout
	case s.Step != nil:
		return 10 * defaultTimeout // a busy machine must not fail a test in simulated time
	}
	return defaultTimeout
}

// scheme is the name of the method under test.
func (s *Subject) scheme() string {
	scheme, _, _ := strings.Cut(s.Address("scheme"), "://")
	return scheme
}

func (s *Subject) open(ctx context.Context, cfg bmi.Config) (*bmi.Endpoint, error) {
	if s.Open != nil {
		return s.Open(ctx, cfg)
	}
	return bmi.Open(ctx, cfg)
}

// names counts the endpoint names used by this process.
var names atomic.Uint64

// uniqueName makes names unique among tests that run at the same time, even in several processes on one
// host.
func uniqueName(role string) string {
	return fmt.Sprintf("mt-%d-%d-%s", os.Getpid(), names.Add(1), role)
}
