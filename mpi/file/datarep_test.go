package file_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/file"
)

// TestRegisterDatarep: names are known once, in one process.
func TestRegisterDatarep(t *testing.T) {
	extent := func(t *datatype.Type) (int, error) { return t.Size(), nil }
	ok := file.Conversions{Extent: extent}
	ranks(t, 2, func(t *testing.T, w *mpi.Comm) {
		p := w.Process()
		for _, name := range []file.Datarep{file.Native, file.Internal, file.External32} {
			assert.ErrorIs(t, file.RegisterDatarep(p, name, ok), mpi.ErrDupDatarep)
		}
		assert.ErrorIs(t, file.RegisterDatarep(p, "", ok), mpi.ErrArg)
		assert.ErrorIs(t, file.RegisterDatarep(p, "none", file.Conversions{}), mpi.ErrArg)
		assert.ErrorIs(t, file.RegisterDatarep(nil, "none", ok), mpi.ErrArg)
		longest := file.Datarep(strings.Repeat("x", file.DatarepBytesMax))
		assert.ErrorIs(t, file.RegisterDatarep(p, longest+"x", ok), mpi.ErrArg)
		assert.NoError(t, file.RegisterDatarep(p, longest, ok))
		assert.NoError(t, file.RegisterDatarep(p, "mine", ok))
		assert.ErrorIs(t, file.RegisterDatarep(p, "mine", ok), mpi.ErrDupDatarep)
	})
}

// TestDatarepOfOneRank: a representation that one rank lacks is an error on all.
func TestDatarepOfOneRank(t *testing.T) {
	everywhere(t, func(t *testing.T, name string) {
		ranks(t, 2, func(t *testing.T, w *mpi.Comm) {
			if w.Rank() == 1 {
				require.NoError(t, file.RegisterDatarep(w.Process(), "of rank 1", stretching))
			}
			open(t, w, name, file.ModeRdwr|file.ModeCreate, nil, func(f *file.File) {
				assert.ErrorIs(t, f.SetView(background, 0, datatype.Int32, datatype.Int32, "of rank 1", nil), mpi.ErrUnsupportedDatarep)
				_, _, _, rep := f.View()
				assert.Equal(t, file.Native, rep, "the view stays")
			})
		})
	})
}

// text is a representation of numbers as 12 characters each, which a person can read.
var text = file.Conversions{
	Extent: func(t *datatype.Type) (int, error) {
		if t.Kind() != datatype.KindInt32 && t.Kind() != datatype.KindFloat64 {
			return 0, fmt.Errorf("%v has no text", t)
		}
		return 12, nil
	},
	Write: func(to, memory []byte, t *datatype.Type, n int) error {
		values := make([]any, n)
		unpack(memory, t, values)
		for i, v := range values {
			if !bytes.Equal(to[12*i:12*(i+1)], make([]byte, 12)) {
				return errors.New("the bytes of the file are not 0")
			}
			copy(to[12*i:12*(i+1)], fmt.Sprintf("%-11v\n", v))
		}
		return nil
	},
	Read: func(memory, from []byte, t *datatype.Type, n int) error {
		for i := range n {
			word := strings.TrimSpace(string(from[12*i : 12*(i+1)]))
			var err error
			if t.Kind() == datatype.KindInt32 {
				var x int32
				_, err = fmt.Sscan(word, &x)
				_, _ = t.Pack(memory[4*i:], bytesOf(&x), 0, 1)
			} else {
				var x float64
				_, err = fmt.Sscan(word, &x)
				_, _ = t.Pack(memory[8*i:], bytesOf(&x), 0, 1)
			}
			if err != nil {
				return fmt.Errorf("%q: %w", word, err)
			}
		}
		return nil
	},
}

// TestTextDatarep: numbers as text, of structures with padding, in a view of every second one.
func TestTextDatarep(t *testing.T) {
	type record struct {
		A int32
		B float64
		_ int32
	}
	everywhere(t, func(t *testing.T, name string) {
		ranks(t, 2, func(t *testing.T, w *mpi.Comm) {
			require.NoError(t, file.RegisterDatarep(w.Process(), "text", text))
			for _, way := range []string{"enable", "disable"} {
				hints := []string{"ind_wr_buffer_size", "4096", "ind_rd_buffer_size", "4096", "cb_buffer_size", "4097", "romio_cb_write", way, "romio_cb_read", way}
				open(t, w, name, file.ModeRdwr|file.ModeCreate, hints, func(f *file.File) {
					pair, err := datatype.Struct([]int{1, 1}, []int{0, 12}, []*datatype.Type{datatype.Int32, datatype.Float64})
					require.NoError(t, err)
					mine, err := datatype.Hindexed([]int{1}, []int{24 * w.Rank()}, pair)
					require.NoError(t, err)
					mine, err = datatype.Resized(mine, 0, 48)
					require.NoError(t, err)
					require.NoError(t, f.SetView(background, 0, pair, mine, "text", nil))
					extent, err := f.TypeExtent(datatype.Int32)
					require.NoError(t, err)
					assert.EqualValues(t, 12, extent)
					_, err = f.TypeExtent(datatype.Byte)
					assert.ErrorIs(t, err, mpi.ErrConversion)

					records := make([]record, 1000)
					for i := range records {
						records[i] = record{A: int32(2*i + w.Rank()), B: float64(i) / 4}
					}
					st, err := f.WriteAtAll(background, 0, buf(records))
					require.NoError(t, err)
					assert.Equal(t, 12*len(records), st.Bytes)
					// Behind the end there is nothing to convert.
					back := make([]record, len(records)+5)
					st, err = f.ReadAtAll(background, 0, buf(back))
					require.NoError(t, err)
					assert.Equal(t, 12*len(records), st.Bytes)
					assert.Equal(t, records, back[:len(records)])
					st, err = f.ReadAt(background, 999, buf(back[:2]))
					require.NoError(t, err)
					assert.Equal(t, 12, st.Bytes)
					assert.Equal(t, records[999], back[0])

					require.NoError(t, f.SetView(background, 0, datatype.Byte, datatype.Byte, file.Native, nil))
					raw := make([]byte, 48)
					_, err = f.ReadAtAll(background, 96, buf(raw))
					require.NoError(t, err)
					assert.Equal(t, "4          \n0.5        \n5          \n0.5        \n", string(raw))
				})
			}
		})
	})
}

// TestConversionFails: an error of a function on one rank is one of all ranks of a collective call,
// and the file can be used afterwards.
func TestConversionFails(t *testing.T) {
	refused := errors.New("refused")
	everywhere(t, func(t *testing.T, name string) {
		ranks(t, 3, func(t *testing.T, w *mpi.Comm) {
			var fails atomic.Bool
			check := func(dst, src []byte, _ *datatype.Type, _ int) error {
				copy(dst, src)
				if fails.Load() {
					return refused
				}
				return nil
			}
			same := file.Conversions{Extent: func(t *datatype.Type) (int, error) { return t.Size(), nil }, Read: check, Write: check}
			require.NoError(t, file.RegisterDatarep(w.Process(), "failing", same))
			for _, way := range []string{"enable", "disable"} {
				hints := []string{"romio_cb_write", way, "romio_cb_read", way, "cb_buffer_size", "4096"}
				open(t, w, name, file.ModeRdwr|file.ModeCreate, hints, func(f *file.File) {
					require.NoError(t, f.SetView(background, 0, datatype.Int32, column(t, w.Rank(), 3), "failing", nil))
					xs := numbers(3000, w.Rank(), 3)
					for range 2 {
						fails.Store(w.Rank() == 1)
						_, err := f.WriteAtAll(background, 0, buf(xs))
						assert.ErrorIs(t, err, mpi.ErrConversion)
						if w.Rank() == 1 {
							assert.ErrorIs(t, err, refused)
						}
						fails.Store(false)
						_, err = f.WriteAtAll(background, 0, buf(xs))
						require.NoError(t, err)
						fails.Store(w.Rank() == 2)
						back := make([]int32, len(xs))
						_, err = f.ReadAtAll(background, 0, buf(back))
						assert.ErrorIs(t, err, mpi.ErrConversion)
						_, err = f.ReadAt(background, 0, buf(back))
						assert.Equal(t, w.Rank() == 2, errors.Is(err, mpi.ErrConversion), "%v", err)
						fails.Store(false)
						_, err = f.ReadAtAll(background, 0, buf(back))
						require.NoError(t, err)
						assert.True(t, bytes.Equal(bytesOf(&xs[7]), bytesOf(&back[7])))
						assert.Equal(t, xs, back)
					}
				})
			}
		})
	})
}

// TestNoConversion: without functions, bytes are as in memory, and so are sizes.
func TestNoConversion(t *testing.T) {
	ranks(t, 1, func(t *testing.T, w *mpi.Comm) {
		as := func(size int) file.Conversions {
			return file.Conversions{Extent: func(*datatype.Type) (int, error) { return size, nil }}
		}
		require.NoError(t, file.RegisterDatarep(w.Process(), "four", as(4)))
		require.NoError(t, file.RegisterDatarep(w.Process(), "five", as(5)))
		open(t, w, t.TempDir()+"/file", file.ModeRdwr|file.ModeCreate, nil, func(f *file.File) {
			assert.ErrorIs(t, f.SetView(background, 0, datatype.Int32, datatype.Int32, "five", nil), mpi.ErrConversion)
			require.NoError(t, f.SetView(background, 0, datatype.Int32, datatype.Int32, "four", nil))
			xs := []int32{1, 2, 3}
			_, err := f.WriteAt(background, 0, buf(xs))
			require.NoError(t, err)
			require.NoError(t, f.SetView(background, 0, datatype.Int32, datatype.Int32, file.Native, nil))
			back := make([]int32, 3)
			_, err = f.ReadAt(background, 0, buf(back))
			require.NoError(t, err)
			assert.Equal(t, xs, back)
		})
	})
}

// bytesOf is the memory of a number.
func bytesOf[T any](x *T) []byte {
	mem, _, _, _, _ := mpi.Value(x).Memory() // a number has memory
	return mem
}

// unpack makes numbers of packed ones.
func unpack(packed []byte, t *datatype.Type, values []any) {
	for i := range values {
		var x int32
		var y float64
		if t.Kind() == datatype.KindInt32 {
			_, _ = t.Unpack(bytesOf(&x), 0, 1, packed[4*i:])
			values[i] = x
		} else {
			_, _ = t.Unpack(bytesOf(&y), 0, 1, packed[8*i:])
			values[i] = y
		}
	}
}
