package stacktest

import (
	"net/netip"
	"testing"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/seamtest"
	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
)

// A Factory makes the subject of one test. Resources common to its stacks (a simulated network, keys) are
// made here and removed with t.Cleanup.
type Factory func(t *testing.T) *Subject

// A Subject is a kind of stack under test. Open and Addr are required. The
// suite expects events of every new stream, dialled or accepted: a first
// Writable when Connected has an answer, Readable when bytes are there.
type Subject struct {
	// Open opens another stack; all stacks of one Subject can reach each
	// other. The suite closes it.
	Open func() stack.Stack

	// Addr is an address on which s, which Open made, can listen. With port 0 the stack chooses a free
	// port; otherwise each call returns another address.
	Addr func(s stack.Stack) netip.AddrPort

	// Step advances simulated time to the next event. nil: time is real, and the suite waits while
	// nothing happens.
	Step func()

	// Timeout is how long anything may take in real time; 0 means a minute, and ten times that with Step.
	Timeout time.Duration

	// Steps is how many Steps in a row anything may take; 0 means 1 000 000.
	Steps int

	// Allocates: moving bytes allocates memory, so the suite does not check allocations.
	Allocates bool
}

func (s *Subject) timeout() time.Duration { return seamtest.Timeout(s.Timeout, s.Step != nil) }

func (s *Subject) steps() int { return seamtest.Steps(s.Steps) }
