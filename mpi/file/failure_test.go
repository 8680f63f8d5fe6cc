package file_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/file"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
)

// TestErrorOfOne: an error of one rank's arguments is an error of all, with the rank, and nothing is
// written; then the file works as before.
func TestErrorOfOne(t *testing.T) {
	everywhere(t, func(t *testing.T, name string) {
		ranks(t, 3, func(t *testing.T, w *mpi.Comm) {
			open(t, w, name, file.ModeRdwr|file.ModeCreate, nil, func(f *file.File) {
				off := int64(0)
				if w.Rank() == 1 {
					off = -1
				}
				calls := map[string]func() (mpi.Status, error){
					"blocking": func() (mpi.Status, error) { return f.WriteAtAll(background, off, buf([]byte("xyz"))) },
					"request":  func() (mpi.Status, error) { return f.IwriteAtAll(off, buf([]byte("xyz"))).Wait(background) },
					"split":    func() (mpi.Status, error) { return begun(f, f.WriteAtAllBegin(off, buf([]byte("xyz")))) },
				}
				for _, call := range []string{"blocking", "request", "split"} {
					_, err := calls[call]()
					require.ErrorIs(t, err, mpi.ErrArg, call)
					if w.Rank() != 1 {
						assert.Contains(t, err.Error(), "rank 1: the offset is -1", call)
					}
				}
				size, err := f.Size(background)
				require.NoError(t, err)
				assert.Zero(t, size)
				_, err = f.WriteAtAll(background, int64(w.Rank()), buf([]byte{1}))
				require.NoError(t, err)
			})
		})
	})
}

// TestStoreFails: an aggregator cannot write. All ranks get the error, no rank waits for ever in any
// of several rounds, and other bytes are right.
func TestStoreFails(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	const each = 5000
	ranks(t, 3, func(t *testing.T, w *mpi.Comm) {
		hints := []string{"romio_cb_write", "enable", "romio_cb_read", "enable", "cb_buffer_size", "4096", "cb_nodes", "2"}
		info, err := newInfo(hints...)
		require.NoError(t, err)
		f, err := file.Open(background, w, name, file.ModeRdwr|file.ModeCreate, info)
		require.NoError(t, err)
		require.NoError(t, f.SetView(background, 0, datatype.Int32, column(t, w.Rank(), 3), file.Native, nil))
		_, err = f.WriteAll(background, buf(numbers(each, 0, 1)))
		require.NoError(t, err)
		if w.Rank() == 1 {
			require.NoError(t, file.CloseStore(f))
		}
		require.NoError(t, w.Barrier(background))
		xs := numbers(each, 7, 0)
		_, err = f.WriteAtAll(background, 10, buf(xs))
		require.ErrorIs(t, err, mpi.ErrFile)
		_, err = f.ReadAtAll(background, 0, buf(xs))
		require.ErrorIs(t, err, mpi.ErrFile)
		if w.Rank() != 1 {
			assert.Contains(t, err.Error(), "rank 1: ")
		}
		require.ErrorIs(t, f.Close(background), mpi.ErrFile)
	})
	got, err := os.ReadFile(name)
	require.NoError(t, err)
	assert.Equal(t, []byte{0, 0, 0, 0}, got[:4])
}

// TestDeath: a rank dies instead of calling. The others get an error from the collective operation
// that they are in, and can close the file.
func TestDeath(t *testing.T) {
	big := numbers(5_000, 0, 1)
	calls := map[string]func(f *file.File) error{
		"write": func(f *file.File) error {
			_, err := f.WriteAll(background, buf(big))
			return err
		},
		"read": func(f *file.File) error {
			_, err := f.ReadAtAll(background, 0, buf(big))
			return err
		},
		"ordered": func(f *file.File) error {
			_, err := f.WriteOrdered(background, buf(big))
			return err
		},
		"request": func(f *file.File) error {
			_, err := f.IwriteAll(buf(big)).Wait(background)
			return err
		},
		"split": func(f *file.File) error {
			_, err := begun(f, f.WriteAllBegin(buf(big)))
			return err
		},
		"sync": func(f *file.File) error { return f.Sync(background) },
		"size": func(f *file.File) error { return f.SetSize(background, 5) },
		"view": func(f *file.File) error {
			return f.SetView(background, 0, datatype.Byte, datatype.Byte, file.Native, nil)
		},
	}
	for i, method := range []string{"mem", "mem", "via+shm", "tcp"} {
		p := places[i%len(places)]
		t.Run(p.name+" over "+method, func(t *testing.T) {
			named := p.make(t)
			for call, do := range calls {
				for victim := range 3 {
					mpitest.Run(t, 3, mpitest.Options{Leave: true, Method: method}, func(t *testing.T, p *mpi.Process) {
						w := p.World()
						info, err := newInfo("cb_buffer_size", "4096", "romio_cb_write", "enable")
						require.NoError(t, err)
						f, err := file.Open(background, w, named(call), file.ModeRdwr|file.ModeCreate, info)
						require.NoError(t, err)
						require.NoError(t, f.SetView(background, 0, datatype.Int32, column(t, w.Rank(), 3), file.Native, nil))
						if _, err = f.WriteAll(background, buf(big)); err != nil {
							// The victim has died before this rank was done.
							requireLost(t, err)
						}
						if w.Rank() == victim {
							mpitest.Kill(p)
							_ = f.Close(background) // so that its storage is closed
							return
						}
						err = do(f)
						requireLost(t, err, "%s without rank %d", call, victim)
						// A local access still works.
						_, err = f.ReadAt(background, 0, buf(make([]int32, 10)))
						require.NoError(t, err)
						require.NoError(t, f.Close(background))
						mpitest.Kill(p)
					})
				}
			}
		})
	}
}

// TestDeathWithin: a rank dies somewhere in a collective operation of many rounds. No other rank waits
// for ever, and all can close the file.
func TestDeathWithin(t *testing.T) {
	rounds := 30
	if testing.Short() {
		rounds = 6
	}
	mpitest.Over(t, []string{"mem", "via+shm", "tcp"}, func(t *testing.T, o mpitest.Options) {
		o.Leave = true
		for i := range rounds {
			name := filepath.Join(t.TempDir(), "file")
			mpitest.Run(t, 4, o, func(t *testing.T, p *mpi.Process) {
				w := p.World()
				info, err := newInfo("cb_buffer_size", "65536", "romio_cb_write", "enable", "romio_cb_read", "enable", "cb_nodes", "3")
				require.NoError(t, err)
				f, err := file.Open(background, w, name, file.ModeRdwr|file.ModeCreate, info)
				require.NoError(t, err)
				err = f.SetView(background, 0, datatype.Int32, column(t, w.Rank(), 4), file.Native, nil)
				xs := numbers(100_000, 0, 1)
				killed := make(chan struct{})
				if w.Rank() == i%4 {
					go func() {
						defer close(killed)
						mpitest.Kill(p)
					}()
				} else {
					close(killed)
				}
				for err == nil {
					if _, err = f.WriteAtAll(background, 0, buf(xs)); err == nil {
						_, err = f.ReadAtAll(background, 0, buf(xs))
					}
				}
				if w.Rank() != i%4 {
					requireLost(t, err)
				}
				<-killed
				_ = f.Close(background) // with an error only in the process that is dead
				mpitest.Kill(p)
			})
		}
	})
}

// requireLost: a process has died, or another process has noticed that.
func requireLost(t *testing.T, err error, what ...any) {
	t.Helper()
	require.Contains(t, []mpi.ErrorClass{mpi.ErrProcFailed, mpi.ErrRevoked}, errclass.Of(err), what...)
}

// TestContext: a context that ends abandons a collective operation in all processes: all return, and
// the file can be closed.
func TestContext(t *testing.T) {
	everywhere(t, func(t *testing.T, name string) {
		ranks(t, 3, func(t *testing.T, w *mpi.Comm) {
			xs := numbers(100, 0, 1)
			f, err := file.Open(background, w, name, file.ModeRdwr|file.ModeCreate, nil)
			require.NoError(t, err)

			// It ends before the operation: this fails everywhere, and the file works on.
			ctx, cancel := context.WithCancel(background)
			if w.Rank() == 1 {
				cancel()
				_, err = f.WriteAll(ctx, buf(xs))
				require.ErrorIs(t, err, context.Canceled)
				_, err = f.WriteOrdered(ctx, buf(xs))
				require.ErrorIs(t, err, context.Canceled)
				require.ErrorIs(t, f.SeekShared(ctx, 0, 0), context.Canceled)
			} else {
				_, err = f.WriteAll(ctx, buf(xs))
				require.ErrorIs(t, err, mpi.ErrRevoked)
				assert.Contains(t, err.Error(), "rank 1: ")
				_, err = f.WriteOrdered(ctx, buf(xs))
				require.ErrorIs(t, err, mpi.ErrRevoked)
				require.ErrorIs(t, f.SeekShared(ctx, 0, 0), mpi.ErrRevoked)
			}
			cancel()
			_, err = f.WriteOrdered(background, buf(xs))
			require.NoError(t, err)

			// It ends while an earlier operation waits for the other ranks.
			if w.Rank() == 0 {
				r := f.IreadAll(buf(make([]int32, 10)))
				ctx, cancel := context.WithCancel(background)
				go cancel()
				require.ErrorIs(t, f.Sync(ctx), context.Canceled)
				require.NoError(t, w.Barrier(background))
				_, err := r.Wait(background)
				require.NoError(t, err)
			} else {
				require.NoError(t, w.Barrier(background))
				_, err := f.ReadAll(background, buf(make([]int32, 10)))
				require.NoError(t, err)
				require.ErrorIs(t, f.Sync(background), mpi.ErrRevoked)
			}

			// It ends in the operation, while the other ranks have not begun it.
			if w.Rank() == 0 {
				ctx, cancel := context.WithCancel(background)
				require.NoError(t, f.ReadAllBegin(buf(make([]int32, 10))))
				go cancel()
				_, err := f.End(ctx)
				require.ErrorIs(t, err, context.Canceled)
				require.NoError(t, w.Barrier(background))
			} else {
				require.NoError(t, w.Barrier(background))
				_, err := f.ReadAll(background, buf(make([]int32, 10)))
				require.ErrorIs(t, err, mpi.ErrRevoked)
			}
			// Whatever the others do, this process can read and write alone.
			_, err = f.WriteAt(background, int64(4000*w.Rank()), buf(xs))
			require.NoError(t, err)
			require.NoError(t, f.Close(background))
			_, err = f.WriteAll(background, buf(xs))
			require.ErrorIs(t, err, mpi.ErrFile)
			_, err = f.WriteShared(background, buf(xs))
			require.ErrorIs(t, err, mpi.ErrFile)
			require.ErrorIs(t, f.SeekShared(background, 0, 0), mpi.ErrFile)
			require.ErrorIs(t, f.Sync(background), mpi.ErrFile)
			_, err = f.IreadShared(buf(xs)).Wait(background)
			require.ErrorIs(t, err, mpi.ErrFile)
			require.ErrorIs(t, f.Close(background), mpi.ErrFile)
		})
	})
}

// TestContextWithin: a context ends somewhere in a collective operation of many rounds. All ranks
// return, the memory is the callers' again, and the file can be closed and opened again.
func TestContextWithin(t *testing.T) {
	rounds := 30
	if testing.Short() {
		rounds = 6
	}
	mpitest.Over(t, []string{"mem", "via+shm", "tcp"}, func(t *testing.T, o mpitest.Options) {
		name := filepath.Join(t.TempDir(), "file")
		mpitest.Run(t, 4, o, func(t *testing.T, p *mpi.Process) {
			w := p.World()
			hints := []string{"cb_buffer_size", "65536", "romio_cb_write", "enable", "romio_cb_read", "enable", "cb_nodes", "3"}
			info, err := newInfo(hints...)
			require.NoError(t, err)
			xs := numbers(100_000, 0, 1)
			for i := range rounds {
				f, err := file.Open(background, w, name, file.ModeRdwr|file.ModeCreate, info)
				require.NoError(t, err)
				require.NoError(t, f.SetView(background, 0, datatype.Int32, column(t, w.Rank(), 4), file.Native, nil))
				ctx, cancel := context.WithCancel(background)
				if w.Rank() == i%4 {
					go cancel()
				}
				for err == nil {
					if _, err = f.WriteAtAll(ctx, 0, buf(xs)); err == nil {
						_, err = f.ReadAtAll(ctx, 0, buf(xs))
					}
				}
				cancel()
				clear(xs) // it is this process's memory
				if w.Rank() == i%4 {
					require.ErrorIs(t, err, context.Canceled)
				} else {
					require.ErrorIs(t, err, mpi.ErrRevoked)
				}
				require.NoError(t, f.Close(background))
			}
		})
	})
}

// TestOpenContext: one rank gives up opening.
func TestOpenContext(t *testing.T) {
	everywhere(t, func(t *testing.T, name string) {
		ranks(t, 3, func(t *testing.T, w *mpi.Comm) {
			ctx, cancel := context.WithCancel(background)
			defer cancel()
			if w.Rank() == 1 {
				cancel()
			}
			_, err := file.Open(ctx, w, name, file.ModeRdwr|file.ModeCreate, nil)
			if w.Rank() == 1 {
				require.ErrorIs(t, err, context.Canceled)
			} else {
				require.ErrorIs(t, err, mpi.ErrRevoked)
			}
		})
	})
}

// TestLocked: a context ends the wait for a lock.
func TestLocked(t *testing.T) {
	everywhere(t, func(t *testing.T, name string) {
		ranks(t, 2, func(t *testing.T, w *mpi.Comm) {
			open(t, w, name, file.ModeRdwr|file.ModeCreate, nil, func(f *file.File) {
				require.NoError(t, f.SetAtomicity(background, true))
				require.NoError(t, f.SetView(background, 0, datatype.Byte, datatype.Byte, file.Native, nil))
				xs := make([]byte, 10)
				// Each rank holds the lock once, while the other tries.
				for holder := range 2 {
					if w.Rank() == holder {
						unlock, err := file.Lock(f, 0, 10)
						require.NoError(t, err)
						require.NoError(t, w.Barrier(background))
						require.NoError(t, w.Barrier(background))
						unlock()
					} else {
						require.NoError(t, w.Barrier(background))
						ctx, cancel := context.WithCancel(background)
						r := make(chan error)
						go func() {
							_, err := f.WriteAt(ctx, 5, buf(xs))
							r <- err
						}()
						_, err := f.WriteAt(background, 20, buf(xs))
						require.NoError(t, err, "other bytes")
						cancel()
						require.ErrorIs(t, <-r, context.Canceled)
						require.NoError(t, w.Barrier(background))
					}
					_, err := f.WriteAt(background, 5, buf(xs))
					require.NoError(t, err, "the lock is free again")
					require.NoError(t, w.Barrier(background))
				}
			})
		})
	})
}
