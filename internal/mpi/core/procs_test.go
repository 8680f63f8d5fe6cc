package core_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
)

// TestProcs: the processes of a list are those that are known already, and new ones, called by their places.
func TestProcs(t *testing.T) {
	nodes := open(t, 2, "via+shm", core.Limits{})
	a := nodes[0]
	stranger := core.Card{ID: core.ProcID{77}, Addresses: []string{"mem://nobody"}}
	got, err := a.e.Procs([]core.Card{stranger, nodes[1].card, a.card})
	require.NoError(t, err)
	assert.Same(t, a.all[1], got[1])
	assert.Same(t, a.e.Self(), got[2])
	assert.Equal(t, "0 (mem://nobody)", got[0].String())
	assert.Equal(t, stranger, got[0].Card())
	again, err := a.e.Proc(stranger)
	require.NoError(t, err)
	assert.Same(t, got[0], again)

	in := room(10)
	r, err := a.s.Isend(core.Standard, mem(10, 1), 1, 5)
	assert.Equal(t, 10, nodes[1].mustWait(nodes[1].s.Irecv(in, 0, 5)).Bytes)
	a.mustWait(r, err)
	assert.Equal(t, mem(10, 1).Mem, in.Mem)
}
