package mpi_test

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
)

// TestRevokeWhileCreating: revoking a communicator wakes processes that are making others from it,
// at every step of that.
func TestRevokeWhileCreating(t *testing.T) {
	makes := map[string]func(c *mpi.Comm) (*mpi.Comm, error){
		"Dup":        func(c *mpi.Comm) (*mpi.Comm, error) { return c.Dup(bg) },
		"Split":      func(c *mpi.Comm) (*mpi.Comm, error) { return c.Split(bg, c.Rank()%2, 0) },
		"CartCreate": func(c *mpi.Comm) (*mpi.Comm, error) { return c.CartCreate(bg, []int{3}, []bool{true}, false) },
		"Create":     func(c *mpi.Comm) (*mpi.Comm, error) { return c.Create(bg, c.Group()) },
		"CreateGroup": func(c *mpi.Comm) (*mpi.Comm, error) {
			return c.CreateGroup(bg, c.Group(), 1)
		},
	}
	rounds := 100
	if testing.Short() {
		rounds = 25
	}
	for name, makeOne := range makes {
		t.Run(name, func(t *testing.T) {
			mpitest.Run(t, 4, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
				w := p.World()
				for round := range rounds {
					rng := rand.New(rand.NewPCG(uint64(round), uint64(w.Rank())))
					c, err := w.Dup(bg)
					require.NoError(t, err)
					revoked := make(chan error, 1)
					go func() {
						for range rng.IntN(30) {
							runtime.Gosched()
						}
						if w.Rank() == round%w.Size() {
							revoked <- c.Revoke()
						} else {
							revoked <- nil
						}
					}()
					made, err := makeOne(c)
					if err != nil {
						require.ErrorIs(t, err, mpi.ErrRevoked, "round %d", round)
					}
					require.NoError(t, <-revoked)
					if made != nil {
						require.NoError(t, made.Free())
					}
					require.NoError(t, c.Free())
					require.NoError(t, w.Barrier(bg), "round %d", round)
				}
			})
		})
	}
}
