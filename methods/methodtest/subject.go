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

// A Factory makes the subject of one test. A method whose endpoints need
// something in common (a simulated network, a directory) makes it here, and
// takes it down with t.Cleanup.
type Factory func(t T) *Subject

// A Subject is the method under test, as far as bmi.Info does not describe it.
// Only Address is required.
type Subject struct {
	// Address tells how the endpoint called name is addressed, scheme
	// included. Names are words of letters, digits and hyphens, at most 40
	// long, that no other running test uses. A method whose addresses
	// are not chosen freely (a port number) keeps a table.
	Address func(name string) string

	// Open opens an endpoint as cfg says; the subject adds what its method
	// needs (cfg.Options). nil means bmi.Open.
	Open func(ctx context.Context, cfg bmi.Config) (*bmi.Endpoint, error)

	// Crash ends an endpoint without a goodbye, as kill -9 does: its peers
	// must find out by themselves. The suite does not use it afterwards. nil:
	// tests with crashes skip.
	Crash func(t T, e *bmi.Endpoint)

	// Restart replaces an endpoint by a new one under the same address, for
	// methods where that takes more than closing the old one and opening
	// the new one (nil).
	Restart func(t T, e *bmi.Endpoint, cfg bmi.Config) *bmi.Endpoint

	// Fork starts the peer of Serve in another process, listening under
	// Address(name), and returns when it does. ForkSelf is one. nil: tests
	// with other processes skip.
	Fork func(t T, name string) Process

	// Ranges gives patterns of QueryAddrRange that the endpoint called name
	// lies within, and others that it does not. nil: only the plain address
	// is tried.
	Ranges func(name string) (inside, outside []string)

	// Step moves simulated time on, as far as something happens next. With
	// it, every endpoint is opened with Config.Manual and the suite uses one
	// goroutine; tests about goroutines and sleeping skip.
	Step func()

	// OneWay: an endpoint that connects is not recognised by the address it
	// listens on (plain TCP knows its peer by a port chosen at random). The
	// suite then answers only to addresses that it got from a message.
	OneWay bool

	// HeadOfLine: a message over EagerSize whose receive is not posted yet
	// holds up everything behind it from the same sender (PVFS's TCP). The
	// suite then does not overtake one.
	HeadOfLine bool

	// Seeds are those that the random tests run, for subjects that are made
	// from a seed themselves. nil means those of -sim.seeds and -sim.seed.
	Seeds []uint64

	// Timeout bounds every single wait: 0 means two minutes, and twenty for a method in simulated time,
	// which has bounds of its own.
	Timeout time.Duration

	// Skip tells, by test name, which requirements the method does not
	// meet, and why.
	Skip map[string]string
}

// A Process is a peer in another process.
type Process interface {
	// Kill ends it without a goodbye and returns when it is gone.
	Kill()
	// Stop ends it in good order.
	Stop() error
}

// defaultTimeout is generous because it passes only when something is broken,
// and machines that run tests are busy. Half of it is a minute: see prompt.
const defaultTimeout = 2 * time.Minute

func (s *Subject) timeout() time.Duration {
	switch {
	case s.Timeout > 0:
		return s.Timeout
	case s.Step != nil:
		return 10 * defaultTimeout // a busy machine must not end what does not take its time
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

// names counts the endpoint names given out by this process.
var names atomic.Uint64

// uniqueName keeps tests apart that run at the same time, also in several
// processes on one host.
func uniqueName(role string) string {
	return fmt.Sprintf("mt-%d-%d-%s", os.Getpid(), names.Add(1), role)
}
