package methodtest_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/bmi/bmitest"
	"github.com/viaduct-hpc/viaduct/methods/methodtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memory is the in-memory method as a subject, in a network of its own.
func memory(change func(*bmitest.Options)) methodtest.Factory {
	return func(methodtest.T) *methodtest.Subject {
		opts := bmitest.Options{Network: bmitest.NewNetwork()}
		if change != nil {
			change(&opts)
		}
		return &methodtest.Subject{
			Address: func(name string) string { return "mem://" + name },
			Open: func(ctx context.Context, cfg bmi.Config) (*bmi.Endpoint, error) {
				cfg.Options = map[string]any{bmitest.Name: opts}
				return bmi.Open(ctx, cfg)
			},
			Crash: func(t methodtest.T, e *bmi.Endpoint) {
				if !opts.Network.Crash(strings.TrimPrefix(e.Addresses()[0], "mem://")) {
					t.Errorf("no such endpoint: %v", e.Addresses())
				}
				t.Cleanup(func() { _ = e.Close() })
			},
		}
	}
}

func TestMemory(t *testing.T) { methodtest.Run(t, memory(nil)) }

// TestMemoryWithoutSleeper: a method without a Sleeper is polled.
func TestMemoryWithoutSleeper(t *testing.T) {
	methodtest.RunTests(t, methodtest.All.Brief(0, 4), memory(func(o *bmitest.Options) { o.NoSleeper = true }))
}

// TestMemorySmall: a method with few features skips many tests and fails none.
func TestMemorySmall(t *testing.T) {
	methodtest.RunTests(t, methodtest.All.Brief(0, 2), memory(func(o *bmitest.Options) {
		o.MaxExpectedSize, o.MaxUnexpectedSize, o.EagerSize = 3000, 500, 100
		o.MaxPieces, o.Credits, o.NoClasses = 1, 2, true
	}))
}

// TestMemoryStepped: with Step, one goroutine drives all endpoints.
func TestMemoryStepped(t *testing.T) {
	f := memory(nil)
	methodtest.RunTests(t, methodtest.All.Brief(1, 4), func(t methodtest.T) *methodtest.Subject {
		s := f(t)
		s.Step = func() {}
		return s
	})
}

// TestMemoryHeadOfLine: the suite passes without overtaking large messages.
func TestMemoryHeadOfLine(t *testing.T) {
	f := memory(nil)
	methodtest.RunTests(t, methodtest.All.Brief(2, 4), func(t methodtest.T) *methodtest.Subject {
		s := f(t)
		s.HeadOfLine = true
		return s
	})
}

// TestMemoryServed runs the tests that need peers in other processes; here each
// peer is a goroutine.
func TestMemoryServed(t *testing.T) {
	f := memory(nil)
	var tests methodtest.Tests
	for _, name := range []string{"ForkEcho", "ForkKilled", "ForkRestarted"} {
		test, ok := methodtest.All.Find(name)
		require.True(t, ok)
		tests = append(tests, test)
	}
	methodtest.RunTests(t, tests, func(t methodtest.T) *methodtest.Subject {
		s := f(t)
		s.Fork = forkServed(s)
		return s
	})
}

// forkServed is a Fork hook whose processes are goroutines.
func forkServed(s *methodtest.Subject) func(methodtest.T, string) methodtest.Process {
	return func(t methodtest.T, name string) methodtest.Process {
		e, err := s.Open(context.Background(), bmi.Config{Listen: []string{s.Address(name)}})
		require.NoError(t, err)
		p := &served{crash: func() { s.Crash(t, e) }, close: e.Close, ended: make(chan struct{})}
		var ctx context.Context
		ctx, p.cancel = context.WithCancel(context.Background())
		go func() {
			defer close(p.ended)
			p.err = methodtest.Serve(ctx, e)
		}()
		t.Cleanup(func() { _ = p.Stop() })
		return p
	}
}

// served is a peer in a goroutine.
type served struct {
	crash  func()
	close  func() error
	cancel context.CancelFunc
	ended  chan struct{}
	err    error // valid then
}

func (p *served) Kill() {
	p.crash()
	p.cancel()
	<-p.ended
}

func (p *served) Stop() error {
	p.cancel()
	<-p.ended
	return errors.Join(p.err, p.close())
}

func TestTests(t *testing.T) {
	names := make(map[string]bool)
	for _, test := range methodtest.All {
		require.False(t, names[test.Name], "two tests are called %s", test.Name)
		names[test.Name] = true
		require.NotNil(t, test.Func, test.Name)
	}
	for _, test := range methodtest.Basic {
		require.True(t, test.Basic && names[test.Name])
	}
	require.NotEmpty(t, methodtest.Basic)
	require.Less(t, len(methodtest.Basic), len(methodtest.All))

	_, ok := methodtest.All.Find("NoSuchTest")
	require.False(t, ok)
	require.Len(t, methodtest.All.Without("SendRecv", "Large"), len(methodtest.All)-2)
	_, ok = methodtest.All.Without("SendRecv").Find("SendRecv")
	require.False(t, ok)
	require.Panics(t, func() { methodtest.All.Without("NoSuchTest") })
}

// TestSkip: tests that a subject excludes are not run.
func TestSkip(t *testing.T) {
	test := methodtest.Test{Name: "Never", Func: func(t methodtest.T, _ *methodtest.Subject) { t.Errorf("it ran") }}
	methodtest.RunTests(t, methodtest.Tests{test}, func(methodtest.T) *methodtest.Subject {
		return &methodtest.Subject{Skip: map[string]string{"Never": "it must not run"}}
	})
}
