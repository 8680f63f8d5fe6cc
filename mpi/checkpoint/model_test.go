package checkpoint_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/checkpoint"
	"github.com/viaduct-hpc/viaduct/mpi/internal/file/filetest"
)

// A notes is a value of a type that is not a number.
type notes struct {
	Title string
	Seen  map[string]int
}

// randomArray makes an array of one to three dimensions. Some arrays have no elements.
func randomArray(r *rand.Rand, name string) array {
	shape := make([]int, 1+r.IntN(3))
	for i := range shape {
		shape[i] = 1 + r.IntN([]int{400, 40, 12}[len(shape)-1])
	}
	if r.IntN(12) == 0 {
		shape[r.IntN(len(shape))] = 0
	}
	base := r.Uint32()
	switch r.IntN(4) {
	case 0:
		return newArray(name, shape, func(i int) float64 { return float64(base) + float64(i)/8 })
	case 1:
		return newArray(name, shape, func(i int) byte { return byte(base) ^ byte(i*7) })
	case 2:
		return newArray(name, shape, func(i int) [3]int16 { return [3]int16{int16(base), int16(i), -1} })
	}
	type pair struct {
		A uint32
		B int64
	}
	return newArray(name, shape, func(i int) pair { return pair{base, int64(i)} })
}

// TestModel: data saved by some number of ranks is restored bit for bit on any other number of
// ranks, in any other division.
func TestModel(t *testing.T) {
	for _, p := range places {
		t.Run(p.name, func(t *testing.T) {
			sim.Run(t, func(t *testing.T, seed uint64) {
				rounds := 12
				if testing.Short() {
					rounds = 3
				}
				dir := p.make(t)
				for round := range rounds {
					r := rand.New(rand.NewPCG(seed, uint64(round)))
					arrays := make([]array, r.IntN(4))
					for i := range arrays {
						arrays[i] = randomArray(r, fmt.Sprint("array ", i))
					}
					saved := notes{fmt.Sprint("round ", round), map[string]int{"a": round}}
					save := division{n: 1 + r.IntN(9), seed: r.Uint64(), sparse: r.IntN(3) == 0}
					load := division{n: 1 + r.IntN(9), seed: r.Uint64(), sparse: r.IntN(3) == 0, overlap: r.IntN(3) == 0}
					some := r.IntN(3) == 0 && len(arrays) > 0 // restore only some items, in another order
					ranks(t, save.n, func(t *testing.T, w *mpi.Comm) {
						with(t, w, dir, checkpoint.Options{Keep: 1 + round%3}, func(s *checkpoint.Store) {
							list, _ := items(t, arrays, save, w.Rank(), true)
							mine := saved
							if w.Rank() != 0 {
								mine = notes{Title: "rank 0's counts"}
							}
							require.NoError(t, s.Save(bg, int64(round)-5, append(list, checkpoint.Value("notes", &mine))...))
						})
					})
					ranks(t, load.n, func(t *testing.T, w *mpi.Comm) {
						with(t, w, dir, checkpoint.Options{}, func(s *checkpoint.Store) {
							list, check := items(t, arrays, load, w.Rank(), false)
							var got notes
							list = append([]checkpoint.Item{checkpoint.Value("notes", &got)}, list...)
							if some {
								list = list[:1]
							}
							back, err := s.Restore(bg, list...)
							require.NoError(t, err)
							assert.Equal(t, checkpoint.Restored{Step: int64(round) - 5}, back)
							assert.Equal(t, saved, got)
							if !some {
								check()
							}
						})
					})
				}
			})
		})
	}
}

// TestKeep: as many checkpoints are kept as asked for, and other files are left alone.
func TestKeep(t *testing.T) {
	fs := filetest.New(t)
	fs.SetBytes("checkpoint-1.data", []byte("not ours"))
	fs.SetBytes("notes.txt", []byte("not ours"))
	ranks(t, 2, func(t *testing.T, w *mpi.Comm) {
		for i, keep := range []int{3, 3, 3, 3, 1, 0, 0, 0} {
			with(t, w, fs.Name(), checkpoint.Options{Keep: keep}, func(s *checkpoint.Store) {
				require.NoError(t, s.Save(bg, int64(i)))
			})
			if i == 3 && w.Rank() == 0 {
				assert.Equal(t, []string{
					"checkpoint-000000002.data", "checkpoint-000000002.manifest", "checkpoint-000000003.data", "checkpoint-000000003.manifest",
					"checkpoint-000000004.data", "checkpoint-000000004.manifest", "checkpoint-1.data", "notes.txt",
				}, fs.Files())
			}
			require.NoError(t, w.Barrier(bg))
		}
	})
	assert.Equal(t, []string{
		"checkpoint-000000007.data", "checkpoint-000000007.manifest", "checkpoint-000000008.data", "checkpoint-000000008.manifest",
		"checkpoint-1.data", "notes.txt",
	}, fs.Files())
}
