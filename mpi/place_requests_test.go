package mpi_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/boot"
)

// counting is a Boot that counts its calls.
type counting struct {
	boot.Boot
	puts, fences int // until Init returns
	gets         atomic.Int64
}

func (c *counting) Put(ctx context.Context, key, value string) error {
	c.puts++
	return c.Boot.Put(ctx, key, value)
}

func (c *counting) Get(ctx context.Context, key string) (string, error) {
	c.gets.Add(1)
	return c.Boot.Get(ctx, key)
}

func (c *counting) Fence(ctx context.Context) error {
	c.fences++
	return c.Boot.Fence(ctx)
}

// TestFewRequests: within a host, each process asks the launcher as often in a large job as in a small one. Only
// rank 0 asks for each of the others.
func TestFewRequests(t *testing.T) {
	for _, n := range []int{3, 60} {
		boots, err := boot.Local(n)
		require.NoError(t, err)
		counts := make([]counting, n)
		var ranks sync.WaitGroup
		for rank := range n {
			counts[rank].Boot = boots[rank]
			ranks.Go(func() {
				c := &counts[rank]
				p, err := mpi.Init(t.Context(), mpi.Options{Boot: c, Method: "via+shm"})
				if !assert.NoError(t, err) {
					return
				}
				assert.LessOrEqual(t, c.puts, 2, "rank %d of %d", rank, n)
				assert.LessOrEqual(t, c.fences, 3, "rank %d of %d", rank, n)
				more := 0
				if rank == 0 {
					more = n - 1
				}
				assert.LessOrEqual(t, int(c.gets.Load()), 1+more, "rank %d of %d", rank, n)
				xs := []int{0}
				_, err = p.World().Sendrecv(bg, mpi.Slice([]int{rank}), (rank+1)%n, 1, mpi.Slice(xs), (rank+n-1)%n, 1)
				assert.NoError(t, err)
				assert.Equal(t, (rank+n-1)%n, xs[0])
				assert.NoError(t, p.Finalize(t.Context()))
			})
		}
		ranks.Wait()
	}
}

// TestOneListensElsewhere: if one process listens on another address than the others expect, all learn it.
func TestOneListensElsewhere(t *testing.T) {
	for _, method := range []string{"via+shm,tcp", "via+shm://elsewhere-{name}"} {
		boots, err := boot.Local(3)
		require.NoError(t, err)
		var ranks sync.WaitGroup
		for rank, b := range boots {
			o := mpi.Options{Boot: b, Method: "via+shm"}
			if rank == 1 {
				o.Method = method
			}
			ranks.Go(func() {
				p, err := mpi.Init(t.Context(), o)
				if assert.NoError(t, err) {
					assert.NoError(t, p.World().Barrier(bg))
					assert.NoError(t, p.Finalize(t.Context()))
				}
			})
		}
		ranks.Wait()
	}
}

// TestFewRequestsBetweenHosts: on several hosts, a process asks for the addresses of those that it sends to, and
// of no others.
func TestFewRequestsBetweenHosts(t *testing.T) {
	for _, n := range []int{6, 60} {
		boots, err := boot.Local(n)
		require.NoError(t, err)
		counts := make([]counting, n)
		var ranks sync.WaitGroup
		for rank := range n {
			counts[rank].Boot = boots[rank]
			ranks.Go(func() {
				c := &counts[rank]
				host := fmt.Sprintf("host%d/x", rank/3)
				p, err := mpi.Init(t.Context(), mpi.Options{Boot: c, Host: host, Method: "via+shm,tcp", ListenHost: "127.0.0.1"})
				if !assert.NoError(t, err) {
					return
				}
				more := 0
				if rank == 0 {
					more = n - 1
				}
				assert.LessOrEqual(t, int(c.gets.Load()), 3+more, "rank %d of %d", rank, n)
				before := c.gets.Load()
				xs := []int{0}
				_, err = p.World().Sendrecv(bg, mpi.Slice([]int{rank}), (rank+1)%n, 1, mpi.Slice(xs), (rank+n-1)%n, 1)
				assert.NoError(t, err)
				assert.Equal(t, (rank+n-1)%n, xs[0])
				assert.LessOrEqual(t, c.gets.Load(), before+2, "rank %d of %d", rank, n)
				assert.NoError(t, p.Finalize(t.Context()))
			})
		}
		ranks.Wait()
	}
}
