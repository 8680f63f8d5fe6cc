//go:build linux

package stacktest

import (
	"errors"
	"io"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
	"github.com/viaduct-hpc/viaduct/internal/tcp/stack/kernel"
	"github.com/viaduct-hpc/viaduct/internal/verdict"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
)

// flaw is an error that a stack can make; nil fields behave correctly.
type flaw struct {
	test string // that must fail
	edit func(f *flawed)
}

// flaws has one or more for each kind of test, because a suite that cannot fail proves nothing.
var flaws = map[string]flaw{
	"room without an event": {"back-pressure", func(f *flawed) {
		f.event = func(ev *stack.Event, nth int) {
			if nth > 1 {
				ev.Ready = stack.Readable
			}
		}
	}},
	"an arrival without an event": {"bytes that came before Poll", func(f *flawed) {
		f.event = func(ev *stack.Event, nth int) {
			if nth > 4 {
				ev.Ready = stack.Writable
			}
		}
	}},
	"levels": {"quiet when nothing happens", func(f *flawed) { f.levels = true }},
	"half a token": {"tokens come back whole", func(f *flawed) {
		f.event = func(ev *stack.Event, _ int) { ev.Token = stack.Token(uint32(ev.Token)) }
	}},
	"an event of the dead": {"no event after Close", func(f *flawed) { f.levels = true }},
	"the end hides": {"bytes and the end in one event", func(f *flawed) {
		f.recv = func(s stack.Stream, bufs [][]byte) (int, error) {
			n, err := s.Recv(bufs)
			if n > 0 || errors.Is(err, io.EOF) {
				err = stack.ErrAgain
			}
			return n, err
		}
	}},
	"an end that breaks": {"half closed", func(f *flawed) {
		f.recv = func(s stack.Stream, bufs [][]byte) (int, error) {
			n, err := s.Recv(bufs)
			if errors.Is(err, io.EOF) {
				s.Close()
			}
			return n, err
		}
	}},
	"pieces in the wrong order": {"pieces of every size", func(f *flawed) {
		f.recv = func(s stack.Stream, bufs [][]byte) (int, error) {
			slices.Reverse(bufs)
			return s.Recv(bufs)
		}
	}},
	"a byte twice": {"random traffic, seed 3", func(f *flawed) {
		f.send = func(s stack.Stream, bufs [][]byte) (int, error) {
			n, err := s.Send(bufs)
			return max(n-1, 0), err
		}
	}},
	"a wrong byte": {"bytes arrive in order", func(f *flawed) {
		f.recv = func(s stack.Stream, bufs [][]byte) (int, error) {
			n, err := s.Recv(bufs)
			if n > 1000 {
				bufs[0][1000]++
			}
			return n, err
		}
	}},
	"another part of the file":       {"bytes of files", func(f *flawed) { f.file = func(off int64) int64 { return off - 1 } }},
	"a file's fault is the stream's": {"a file that cannot be read", func(f *flawed) { f.unread = errors.New("broken") }},
	"a mark that only rises": {"a low-water mark that is lowered", func(f *flawed) {
		highest := 0
		f.mark = func(s stack.Patient, n int) {
			highest = max(highest, n)
			s.LowWater(highest)
		}
	}},
	"a mark too high": {"a low-water mark that is reached", func(f *flawed) {
		f.mark = func(s stack.Patient, n int) { s.LowWater(n + 1) }
	}},
	"nothing after Finish": {"Send after Finish", func(f *flawed) {
		f.send = func(s stack.Stream, bufs [][]byte) (int, error) { return 0, stack.ErrAgain }
	}},
	"delivered at once":   {"back-pressure", func(f *flawed) { f.delivered = ptr(true) }},
	"never delivered":     {"delivered", func(f *flawed) { f.delivered = ptr(false) }},
	"last come first":     {"accepted in the order of dialling", func(f *flawed) { f.lifo = true }},
	"another error":       {"address in use", func(f *flawed) { f.vague = true }},
	"another refusal":     {"nobody listens", func(f *flawed) { f.vague = true }},
	"Arm sees nothing":    {"Arm refuses while there are events", func(f *flawed) { f.arm = ptr(true) }},
	"Wake is lost":        {"Wake ends Sleep", func(f *flawed) { f.wake = func(*kernel.Stack) {} }},
	"Sleep sees nothing":  {"an arrival between Arm and Sleep", func(f *flawed) { f.sleep = func(d time.Duration) { <-time.After(d) } }},
	"Sleep is short":      {"Sleep ends in time", func(f *flawed) { f.sleep = func(time.Duration) {} }},
	"a message allocates": {"no allocation for a message", func(f *flawed) { f.garbage = true }},
	"Wake stays": {"Wake before Sleep ends the next one, once", func(f *flawed) {
		f.wake = func(s *kernel.Stack) { f.sleep = func(time.Duration) {} }
	}},
}

// flawTimeout is how long a flaw may take to be noticed: most of them show when something does
// not come.
func flawTimeout() time.Duration {
	if testing.Short() {
		return 200 * time.Millisecond
	}
	return time.Second
}

func TestTheSuiteSeesEveryFlaw(t *testing.T) {
	for name, c := range flaws {
		t.Run(name, func(t *testing.T) {
			if !strings.HasPrefix(c.test, "no allocation") { // those would also count allocations of parallel tests
				t.Parallel()
			}
			i := slices.IndexFunc(all(), func(x test) bool { return x.name == c.test })
			require.GreaterOrEqual(t, i, 0, "no test %q", c.test)
			right := play(all()[i], func(*flawed) {}, wallclock.Patience)
			require.False(t, right.Failed(), "fails without the flaw: %s", right.Errors())
			assert.True(t, play(all()[i], c.edit, flawTimeout()).Failed(), "%q does not see it", c.test)
		})
	}
}

// play runs one test against a flawed stack.
func play(c test, edit func(*flawed), timeout time.Duration) *verdict.T {
	return verdict.Run(c.name, func(t *verdict.T) {
		c.fn(t, newWorld(t, &Subject{
			Open:    func() stack.Stack { return openFlawed(t, edit) },
			Addr:    func(stack.Stack) netip.AddrPort { return netip.MustParseAddrPort("127.0.0.1:0") },
			Timeout: timeout,
		}))
	})
}

func ptr(b bool) *bool { return &b }
