package udp_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// A canary receives failures in place of a test.
type canary struct{ failed bool }

// canaryDied ends a run that has failed.
type canaryDied struct{}

func (c *canary) Errorf(string, ...any) { c.failed = true }
func (c *canary) FailNow()              { panic(canaryDied{}) }
func (c *canary) Helper()               {}
func (c *canary) Logf(string, ...any)   {}

// run runs the traffic of a seed, and reports whether all checks passed.
func (c *canary) run(seed uint64, spoil spoiler) (good bool) {
	defer func() {
		if died := recover(); died != nil {
			if _, ok := died.(canaryDied); !ok {
				panic(died)
			}
		}
		good = !c.failed
	}()
	crowd := newCrowd(c, seed)
	crowd.spoil = spoil
	crowd.run()
	return true
}

const (
	// canarySeeds is how many runs have the same lie in them. In some it may have no
	// effect: the connection ends before a check can see it.
	canarySeeds = 8
	// canaryLate is how many completions pass before one is spoilt.
	canaryLate = 20
)

// TestSimTrafficSeesLies: every property of operations is checked: one false report of a
// device among many true ones makes a run fail.
func TestSimTrafficSeesLies(t *testing.T) {
	recv := func(h *half, e *nic.Event) bool {
		return e.Kind == nic.EventRecv && e.Desc.Status == nic.StatusSuccess
	}
	done := func(op nic.Op) func(*half, *nic.Event) bool {
		return func(_ *half, e *nic.Event) bool {
			return e.Kind == nic.EventSend && e.Desc.Op == op && e.Desc.Status == nic.StatusSuccess
		}
	}
	with := func(when func(*half, *nic.Event) bool, lie func(h *half, e *nic.Event)) func() spoiler {
		return func() spoiler {
			left := canaryLate
			return func(h *half, e *nic.Event) bool {
				if when(h, e) {
					if left--; left == 0 {
						lie(h, e)
					}
				}
				return false
			}
		}
	}
	for name, spoil := range map[string]func() spoiler{
		"reported twice": func() spoiler {
			left := canaryLate
			return func(h *half, e *nic.Event) bool {
				if recv(h, e) {
					left--
				}
				return left == 0 && recv(h, e)
			}
		},
		"a wrong byte": with(func(h *half, e *nic.Event) bool { return recv(h, e) && received(e) != nil },
			func(_ *half, e *nic.Event) { received(e)[0]++ }),
		"a wrong length": with(recv, func(_ *half, e *nic.Event) { e.Desc.Length++ }),
		"a failure":      with(recv, func(_ *half, e *nic.Event) { e.Desc.Status = nic.StatusTransportError }),
		"never came":     with(recv, func(h *half, _ *nic.Event) { h.peer.said = slices.Insert(h.peer.said, h.heard, h.peer.said[0]) }),
		"a wrong write":  with(done(nic.OpRDMAWrite), func(h *half, _ *nic.Event) { clear(h.peer.region) }),
		"a wrong read":   with(done(nic.OpRDMARead), func(_ *half, e *nic.Event) { clear(e.Desc.Segments[0].Data); clear(e.Desc.Segments[1].Data) }),
		"out of order": with(done(nic.OpSend), func(h *half, _ *nic.Event) {
			h.sends = append(h.sends, h.sends[0])
			h.sends = h.sends[1:]
			if len(h.sends) == 1 {
				h.sends = nil
			}
		}),
		"flushed, nothing happened": with(done(nic.OpSend), func(_ *half, e *nic.Event) { e.Desc.Status = nic.StatusFlushed }),
		"memory written late": with(done(nic.OpSend), func(h *half, _ *nic.Event) {
			if n := len(h.done); n > 0 {
				h.done[n-1].buf[0]++
			}
		}),
	} {
		t.Run(name, func(t *testing.T) {
			seen := 0
			for seed := range uint64(canarySeeds) {
				if !new(canary).run(seed+1, spoil()) {
					seen++
				}
			}
			t.Logf("seen in %d of %d runs", seen, canarySeeds)
			require.Positive(t, seen)
		})
	}
	for seed := range uint64(canarySeeds) {
		require.True(t, new(canary).run(seed+1, nil), "the truth, seed %d", seed+1)
	}
}

// received returns the memory of an arrived message, or nil.
func received(e *nic.Event) []byte {
	if len(e.Desc.Data) > 0 {
		return e.Desc.Data
	}
	for _, s := range e.Desc.Segments {
		if len(s.Data) > 0 && e.Desc.Length > 0 {
			return s.Data
		}
	}
	return nil
}
