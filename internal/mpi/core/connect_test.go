package core_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/bmi/bmitest"
	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// TestDeathRightAfterHello: a connection ends as soon as HELLO has been sent, before the process
// waits for anything from it. The end is noticed nevertheless.
func TestDeathRightAfterHello(t *testing.T) {
	net := bmitest.NewNetwork()
	var nodes []*node
	for rank, o := range []bmitest.Options{
		{Network: net, Posted: func() { net.Crash("b") }},
		{Network: net},
	} {
		ep, err := bmi.Open(context.Background(), bmi.Config{
			Methods: []string{bmitest.Name}, Listen: []string{"mem://" + string(rune('a'+rank))},
			Options: map[string]any{bmitest.Name: o},
		})
		require.NoError(t, err)
		d := &node{t: t, ep: ep, card: core.Card{ID: core.ProcID{byte(rank + 1)}, Host: "here", Addresses: ep.Addresses()}}
		d.e, err = core.New(core.Config{Endpoint: ep, Self: d.card})
		require.NoError(t, err)
		t.Cleanup(d.kill)
		nodes = append(nodes, d)
	}
	a := nodes[0]
	for _, d := range nodes {
		p, err := a.e.Proc(d.card)
		require.NoError(t, err)
		a.all = append(a.all, p)
	}
	s := a.scope(2, 0, a.all)
	r, err := s.Irecv(room(4), 1, 1) // connects
	_, err = a.wait(r, err)
	require.ErrorIs(t, err, errclass.ProcFailed)
}
