package client_test

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
)

// TestDirectoriesIntoEachOther: clients that move directories into each other at the same time never cut them off from the root.
// A move may fail, and then nothing has moved.
func TestDirectoriesIntoEachOther(t *testing.T) {
	rounds := 30
	if testing.Short() {
		rounds = 10
	}
	for _, n := range []int{2, 3} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			sim.Run(t, func(t *testing.T, seed uint64) {
				c := pvfstest.Start(t, pvfstest.Options{})
				var movers []*client.FS
				for range n {
					movers = append(movers, mount(t, c, client.Options{}))
				}
				total := 0
				for round := range rounds {
					base := fmt.Sprintf("/%d-%d", seed, round)
					require.NoError(t, movers[0].Mkdir(ctx, base, 0o755))
					for i := range n {
						require.NoError(t, movers[i].Mkdir(ctx, fmt.Sprintf("%s/d%d", base, i), 0o755))
					}
					var wait sync.WaitGroup
					begin := make(chan struct{})
					moved := make([]bool, n)
					for i, f := range movers {
						wait.Go(func() {
							<-begin
							err := f.Rename(ctx, fmt.Sprintf("%s/d%d", base, i), fmt.Sprintf("%s/d%d/in%d", base, (i+1)%n, i))
							moved[i] = err == nil
							if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.EBUSY) && !errors.Is(err, syscall.EINVAL) {
								t.Errorf("round %d, mover %d: %v", round, i, err)
							}
						})
					}
					close(begin)
					wait.Wait()
					look := mount(t, c, client.Options{})
					names := map[string]int{}
					require.NoError(t, fs.WalkDir(look, base[1:], func(_ string, d fs.DirEntry, err error) error {
						if err == nil {
							names[d.Name()]++
						}
						return err
					}))
					want := map[string]int{base[1:]: 1}
					for i, m := range moved {
						if m {
							want[fmt.Sprint("in", i)] = 1
							total++
						} else {
							want[fmt.Sprint("d", i)] = 1
						}
					}
					require.Equal(t, want, names, "round %d", round)
				}
				require.NotZero(t, total, "none moved in any round")
			})
		})
	}
}
