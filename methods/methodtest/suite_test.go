package methodtest_test

import (
	"context"
	"strings"
	"testing"

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

// TestMemoryWithoutSleeper: a method that nobody can sleep on is polled.
func TestMemoryWithoutSleeper(t *testing.T) {
	methodtest.Run(t, memory(func(o *bmitest.Options) { o.NoSleeper = true }))
}
