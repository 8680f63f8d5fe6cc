package file_test

import (
	"io"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/file"
)

// TestSharedPointer: several ranks write records of different lengths at the shared pointer at the
// same time, each with several operations at once. Each record is in the file once, whole.
func TestSharedPointer(t *testing.T) {
	const n, each = 4, 40
	everywhere(t, func(t *testing.T, name string) {
		ranks(t, n, func(t *testing.T, w *mpi.Comm) {
			open(t, w, name, file.ModeRdwr|file.ModeCreate, nil, func(f *file.File) {
				require.NoError(t, f.SetView(background, 4, datatype.Int32, datatype.Int32, file.Native, nil))
				var requests []mpi.Request
				total := 0
				for i := range each {
					// A record: its length, then as often its mark.
					length := 2 + (w.Rank()*7+i)%9
					record := numbers(length, 1000*w.Rank()+i, 0)
					record[0] = int32(length)
					total += length
					if i%3 == 0 {
						_, err := f.WriteShared(background, buf(record))
						require.NoError(t, err)
					} else {
						requests = append(requests, f.IwriteShared(buf(record)))
					}
				}
				// What this process has asked for before, the pointer has passed.
				at, err := f.PositionShared(background)
				require.NoError(t, err)
				assert.GreaterOrEqual(t, at, int64(total))
				require.NoError(t, mpi.WaitAll(background, requests...))
				require.NoError(t, w.Barrier(background))

				all, err := f.PositionShared(background)
				require.NoError(t, err)
				xs := make([]int32, all+1)
				st, err := f.ReadAt(background, 0, buf(xs))
				require.NoError(t, err)
				require.EqualValues(t, 4*all, st.Bytes)
				seen := make(map[int32]bool)
				last := make([]int32, n) // of each rank's blocking calls
				for xs = xs[:all]; len(xs) > 0; xs = xs[xs[0]:] {
					mark := xs[1]
					require.Equal(t, numbers(int(xs[0])-1, int(mark), 0), xs[1:xs[0]])
					require.False(t, seen[mark])
					seen[mark] = true
					if mark%1000%3 == 0 {
						rank := mark / 1000
						require.LessOrEqual(t, last[rank], mark, "a later call came first")
						last[rank] = mark
					}
				}
				assert.Len(t, seen, n*each)

				// All ranks read it again, each a part.
				require.NoError(t, f.SeekShared(background, 0, io.SeekStart))
				count := 0
				for {
					xs := make([]int32, 7)
					st, err := f.ReadShared(background, buf(xs))
					require.NoError(t, err)
					count += st.Bytes
					if st.Bytes < 28 {
						break
					}
				}
				sum := []int64{int64(count)}
				require.NoError(t, w.Allreduce(background, mpi.InPlace, mpi.Slice(sum), mpi.Sum))
				assert.Equal(t, 4*all, sum[0])
			})
		})
	})
}

// TestOrdered: the parts of the ranks follow one another in the order of ranks, also in split calls.
func TestOrdered(t *testing.T) {
	everywhere(t, func(t *testing.T, name string) {
		ranks(t, 3, func(t *testing.T, w *mpi.Comm) {
			me := w.Rank()
			open(t, w, name, file.ModeRdwr|file.ModeCreate, nil, func(f *file.File) {
				require.NoError(t, f.SetView(background, 0, datatype.Int32, datatype.Int32, file.Native, nil))
				st, err := f.WriteOrdered(background, buf(numbers(me, 10*me, 1)))
				require.NoError(t, err)
				assert.Equal(t, 4*me, st.Bytes)
				require.NoError(t, f.WriteOrderedBegin(buf(numbers(1, 100+me, 1))))
				_, err = f.End(background)
				require.NoError(t, err)
				at, err := f.PositionShared(background)
				require.NoError(t, err)
				assert.EqualValues(t, 6, at)

				require.NoError(t, f.SeekShared(background, -4, io.SeekEnd))
				got := make([]int32, 1)
				_, err = f.ReadOrdered(background, buf(got))
				require.NoError(t, err)
				assert.Equal(t, []int32{[]int32{21, 100, 101}[me]}, got)
				require.NoError(t, f.SeekShared(background, -5, io.SeekCurrent))
				all := make([]int32, 2)
				require.NoError(t, f.ReadOrderedBegin(buf(all)))
				st, err = f.End(background)
				require.NoError(t, err)
				assert.Equal(t, 8, st.Bytes)
				assert.Equal(t, [][]int32{{10, 20}, {21, 100}, {101, 102}}[me], all)
			})
		})
	})
}

// TestSequential: a file with ModeSequential has only the shared pointer.
func TestSequential(t *testing.T) {
	everywhere(t, func(t *testing.T, name string) {
		ranks(t, 2, func(t *testing.T, w *mpi.Comm) {
			open(t, w, name, file.ModeWronly|file.ModeCreate|file.ModeSequential, nil, func(f *file.File) {
				xs := numbers(2, 5*w.Rank(), 1)
				_, err := f.Write(background, buf(xs))
				assert.ErrorIs(t, err, mpi.ErrUnsupportedOperation)
				_, err = f.WriteAtAll(background, 0, buf(xs))
				assert.ErrorIs(t, err, mpi.ErrUnsupportedOperation)
				assert.ErrorIs(t, f.Seek(background, 0, io.SeekStart), mpi.ErrUnsupportedOperation)
				assert.ErrorIs(t, f.SetSize(background, 0), mpi.ErrUnsupportedOperation)
				assert.ErrorIs(t, f.SetView(background, 0, datatype.Int32, datatype.Int32, file.Native, nil), mpi.ErrArg)
				_, err = f.WriteOrdered(background, buf(xs))
				require.NoError(t, err)
				require.NoError(t, f.SetView(background, file.DisplacementCurrent, datatype.Int32, datatype.Int32, file.Native, nil))
				disp, _, _, _ := f.View()
				assert.EqualValues(t, 16, disp)
				_, err = f.WriteOrdered(background, buf(xs))
				require.NoError(t, err)
			})
			open(t, w, name, file.ModeRdonly, nil, func(f *file.File) {
				got := make([]int32, 9)
				st, err := f.Read(background, buf(got))
				require.NoError(t, err)
				assert.Equal(t, 32, st.Bytes)
				assert.Equal(t, []int32{0, 1, 5, 6, 0, 1, 5, 6}, got[:8])
				assert.ErrorIs(t, f.SetView(background, file.DisplacementCurrent, datatype.Int32, datatype.Int32, file.Native, nil), mpi.ErrArg)
			})
		})
	})
}

// TestAtomic: atomic writes that overlap at the same time are each done as a whole, with different
// views, too. A read never sees a part of one.
func TestAtomic(t *testing.T) {
	const n, length, rounds = 3, 300, 12
	everywhere(t, func(t *testing.T, name string) {
		ranks(t, n, func(t *testing.T, w *mpi.Comm) {
			open(t, w, name, file.ModeRdwr|file.ModeCreate, nil, func(f *file.File) {
				assert.False(t, f.Atomicity())
				require.NoError(t, f.SetAtomicity(background, true))
				assert.True(t, f.Atomicity())
				require.NoError(t, f.SetView(background, 0, datatype.Int32, column(t, 1, 3), file.Native, nil))
				same := func(xs []int32) {
					slices.Sort(xs)
					assert.Equal(t, xs[0], xs[len(xs)-1], "parts of two writes")
				}
				_, err := f.WriteAtAll(background, 0, buf(numbers(length, 7, 0)))
				require.NoError(t, err)
				for i := range rounds {
					mine := buf(numbers(length, 10*i+w.Rank(), 0))
					switch {
					case i%4 == 3:
						_, err := f.WriteAtAll(background, 0, mine)
						require.NoError(t, err)
					case i%2 == w.Rank()%2:
						_, err := f.WriteAt(background, 0, mine)
						require.NoError(t, err)
					default:
						xs := make([]int32, length)
						_, err := f.ReadAt(background, 0, buf(xs))
						require.NoError(t, err)
						same(xs)
					}
				}
				require.NoError(t, w.Barrier(background))
				xs := make([]int32, length)
				_, err = f.ReadAtAll(background, 0, buf(xs))
				require.NoError(t, err)
				same(xs)
				require.NoError(t, f.SetAtomicity(background, false))
			})
		})
	})
}
