package checkpoint_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/checkpoint"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/internal/file/filetest"
)

// state is what these tests save as a step: two arrays and a value, all different for each step.
func state(step int64) ([]array, string) {
	return []array{
		newArray("a", []int{40, 31}, func(i int) int64 { return step<<32 + int64(i) }),
		newArray("b", []int{700}, func(i int) byte { return byte(step) * byte(i) }),
	}, fmt.Sprint("value of step ", step)
}

// save saves the state of a step.
func save(t *testing.T, w *mpi.Comm, s *checkpoint.Store, step int64) error {
	arrays, v := state(step)
	list, _ := items(t, arrays, division{n: w.Size(), seed: uint64(step)}, w.Rank(), true)
	return s.Save(filetest.As(bg, w.Rank()), step, append(list, checkpoint.Value("v", &v))...)
}

// restored restores the newest state, and compares everything.
func restored(t *testing.T, dir string, n int) (back checkpoint.Restored) {
	t.Helper()
	ranks(t, n, func(t *testing.T, w *mpi.Comm) {
		with(t, w, dir, checkpoint.Options{}, func(s *checkpoint.Store) {
			var v string
			shapes, _ := state(0)
			list, _ := items(t, shapes, division{n: n, seed: 3}, w.Rank(), false)
			got, err := s.Restore(bg, append(list, checkpoint.Value("v", &v))...)
			require.NoError(t, err)
			arrays, want := state(got.Step)
			assert.Equal(t, want, v)
			list, check := items(t, arrays, division{n: n, seed: 5}, w.Rank(), false)
			_, err = s.Restore(bg, list...)
			require.NoError(t, err)
			check()
			if w.Rank() == 0 {
				back = got
			}
		})
	})
	return back
}

// prepared makes a storage with the checkpoints of steps 1 and 2.
func prepared(t *testing.T, n int, twoNames bool) *filetest.FS {
	fs := filetest.New(t)
	fs.TwoNames = twoNames
	ranks(t, n, func(t *testing.T, w *mpi.Comm) {
		with(t, w, fs.Name(), checkpoint.Options{}, func(s *checkpoint.Store) {
			require.NoError(t, save(t, w, s, 1))
			require.NoError(t, save(t, w, s, 2))
		})
	})
	return fs
}

// goesOn checks that the next save works and leaves nothing else behind. First it checks that a save
// that fails after removing leftovers does not change the newest checkpoint, which is the one of step.
func goesOn(t *testing.T, fs *filetest.FS, n int, step int64) {
	t.Helper()
	fs.Set(func(s filetest.Step) error {
		if s.Kind == filetest.Create {
			return unix.ENOSPC
		}
		return nil
	})
	attempt := func(class mpi.ErrorClass) {
		ranks(t, n, func(t *testing.T, w *mpi.Comm) {
			with(t, w, fs.Name(), checkpoint.Options{}, func(s *checkpoint.Store) {
				require.Equal(t, class, errclass.Of(save(t, w, s, 4)))
			})
		})
	}
	attempt(mpi.ErrNoSpace)
	fs.Set(nil)
	assert.Equal(t, checkpoint.Restored{Step: step}, restored(t, fs.Name(), 2))
	attempt(mpi.Success)
	assert.Equal(t, int64(4), restored(t, fs.Name(), 2).Step)
	assert.Len(t, fs.Files(), 4, "two checkpoints and no leftovers: %v", fs.Files())
}

func eachForm(t *testing.T, fn func(t *testing.T, twoNames bool)) {
	for _, two := range []bool{false, true} {
		t.Run(fmt.Sprintf("two names=%v", two), func(t *testing.T) { fn(t, two) })
	}
}

// TestCrash: whenever all processes are killed or the machine loses power, before or after any step of
// a save, there is a whole checkpoint: that of the save or the one before. And the job goes on.
func TestCrash(t *testing.T) {
	cuts := 6
	if testing.Short() {
		cuts = 1
	}
	eachForm(t, func(t *testing.T, twoNames bool) {
		fs := prepared(t, 3, twoNames)
		r := rand.New(rand.NewPCG(sim.Seed(t), 1))
		type moment struct {
			text string
			fs   *filetest.FS
		}
		var mu sync.Mutex
		var moments []moment
		shot := func(text string) {
			mu.Lock()
			defer mu.Unlock()
			moments = append(moments, moment{"killed before " + text, fs.Killed(t)})
			for range cuts {
				moments = append(moments, moment{"power lost before " + text, fs.Cut(t, r)})
			}
		}
		fs.Set(func(s filetest.Step) error {
			if s.Kind != filetest.Size && s.Kind != filetest.Names && s.Kind != filetest.Open { // these change nothing
				shot(fmt.Sprintf("step %d, %s %s", s.Number, s.Kind, s.Name))
			}
			return nil
		})
		ranks(t, 3, func(t *testing.T, w *mpi.Comm) {
			with(t, w, fs.Name(), checkpoint.Options{}, func(s *checkpoint.Store) { require.NoError(t, save(t, w, s, 3)) })
		})
		fs.Set(nil)
		shot("the end")
		saved := false
		for i, m := range moments {
			back := restored(t, m.fs.Name(), 1+i%4)
			require.Empty(t, back.Damaged, m.text)
			require.Contains(t, []int64{2, 3}, back.Step, m.text)
			saved = saved || back.Step == 3
			goesOn(t, m.fs, 1+i%3, back.Step)
			if t.Failed() {
				t.Fatal(m.text)
			}
		}
		for _, m := range moments[len(moments)-1-cuts:] {
			assert.Equal(t, int64(4), restored(t, m.fs.Name(), 1).Step)
		}
		assert.True(t, saved)
		assert.Equal(t, int64(3), restored(t, fs.Name(), 2).Step)
		assert.Equal(t, int64(3), restored(t, fs.Cut(t, r).Name(), 2).Step, "what is saved survives")
	})
}

// TestFails: a step of a save fails, and those behind it that change something. All ranks get an error
// of the same class, there is a whole checkpoint, and when the storage works again the job goes on.
func TestFails(t *testing.T) {
	stride := 1
	if testing.Short() {
		stride = 3
	}
	causes := map[error]mpi.ErrorClass{
		unix.ENOSPC: mpi.ErrNoSpace, unix.EROFS: mpi.ErrReadOnly, unix.EACCES: mpi.ErrAccess, unix.EIO: mpi.ErrIO, filetest.ErrHalf: mpi.ErrIO,
	}
	for cause, class := range causes {
		t.Run(class.Error()+" "+cause.Error(), func(t *testing.T) {
			for first := 0; ; first += stride {
				fs := prepared(t, 3, first%2 == 1)
				steps := 0
				errs := make([]error, 3)
				ranks(t, 3, func(t *testing.T, w *mpi.Comm) {
					with(t, w, fs.Name(), checkpoint.Options{}, func(s *checkpoint.Store) {
						if w.Rank() == 0 {
							fs.Set(func(s filetest.Step) error {
								if s.Number == first || s.Number > first && s.Kind != filetest.Close && s.Kind != filetest.Open {
									return cause
								}
								return nil
							})
						}
						require.NoError(t, w.Barrier(bg))
						errs[w.Rank()] = save(t, w, s, 3)
						require.NoError(t, w.Barrier(bg))
						if w.Rank() == 0 {
							steps = fs.Steps()
							fs.Set(nil)
						}
						require.NoError(t, w.Barrier(bg))
					})
				})
				if steps <= first {
					for _, err := range errs {
						require.NoError(t, err)
					}
					require.Greater(t, first, 20, "the storage has failed at every step")
					return
				}
				for rank, err := range errs {
					require.ErrorIs(t, err, class, "step %d", first)
					require.Equal(t, class, errclass.Of(err), "step %d, rank %d", first, rank)
				}
				back := restored(t, fs.Name(), 2)
				require.Empty(t, back.Damaged, "step %d", first)
				require.Contains(t, []int64{2, 3}, back.Step, "step %d", first)
				goesOn(t, fs, 3, back.Step)
				if t.Failed() {
					t.Fatalf("step %d", first)
				}
			}
		})
	}
}
