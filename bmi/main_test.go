package bmi_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/bmi/bmitest"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// limit is how long anything in a test may take before it counts as hung.
const limit = wallclock.Patience

// world opens endpoints in a network of their own.
type world struct {
	t   testing.TB
	opt bmitest.Options
	cfg bmi.Config
}

func newWorld(t testing.TB) *world {
	return &world{t: t, opt: bmitest.Options{Network: bmitest.NewNetwork()}}
}

// open opens an endpoint that listens under name, or under none.
func (w *world) open(name string) *bmi.Endpoint {
	w.t.Helper()
	cfg := w.cfg
	cfg.Options = map[string]any{bmitest.Name: w.opt}
	cfg.Methods = []string{bmitest.Name}
	if name != "" {
		cfg.Listen = []string{"mem://" + name}
	}
	e, err := bmi.Open(context.Background(), cfg)
	require.NoError(w.t, err)
	w.t.Cleanup(func() { require.NoError(w.t, e.Close()) })
	return e
}

// side is an endpoint with one context and the address of its peer.
type side struct {
	t    testing.TB
	ep   *bmi.Endpoint
	ctx  *bmi.Context
	peer bmi.Addr
}

// pair opens two endpoints that know each other.
func (w *world) pair() (a, b *side) {
	w.t.Helper()
	ea, eb := w.open("a"), w.open("b")
	return w.side(ea, "b"), w.side(eb, "a")
}

func (w *world) side(e *bmi.Endpoint, peer string) *side {
	w.t.Helper()
	c, err := e.OpenContext()
	require.NoError(w.t, err)
	addr, err := e.Lookup("mem://" + peer)
	require.NoError(w.t, err)
	return &side{w.t, e, c, addr}
}

// wait returns the completion of a pending operation.
func (s *side) wait(p bmi.Posted, err error) bmi.Completion {
	s.t.Helper()
	require.NoError(s.t, err)
	if p.Done {
		return bmi.Completion{Size: p.Size}
	}
	c, ok, err := s.ctx.Test(p.Op, limit)
	require.NoError(s.t, err)
	require.True(s.t, ok, "operation did not complete in time")
	return c
}
