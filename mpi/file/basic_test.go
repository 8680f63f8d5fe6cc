package file_test

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/file"
)

// TestColumns: each rank writes every n-th number, and all read all of them.
func TestColumns(t *testing.T) {
	const each = 3000
	everywhere(t, func(t *testing.T, name string) {
		for _, way := range []string{"enable", "disable", "automatic"} {
			ranks(t, 3, func(t *testing.T, w *mpi.Comm) {
				n := w.Size()
				hints := []string{"romio_cb_write", way, "romio_cb_read", way, "cb_buffer_size", "4096", "cb_nodes", "2"}
				open(t, w, name, file.ModeRdwr|file.ModeCreate, hints, func(f *file.File) {
					require.NoError(t, f.SetView(background, 8, datatype.Int32, column(t, w.Rank(), n), file.Native, nil))
					st, err := f.WriteAll(background, buf(numbers(each, w.Rank(), n)))
					require.NoError(t, err)
					assert.Equal(t, 4*each, st.Bytes)
					assert.EqualValues(t, each, f.Position())

					got := make([]int32, each+5)
					st, err = f.ReadAtAll(background, 0, buf(got))
					require.NoError(t, err)
					assert.Equal(t, 4*each, st.Bytes)
					assert.Equal(t, numbers(each, w.Rank(), n), got[:each])

					require.NoError(t, f.SetView(background, 8, datatype.Int32, datatype.Int32, file.Native, nil))
					got = make([]int32, n*each)
					st, err = f.Read(background, buf(got))
					require.NoError(t, err)
					assert.Equal(t, 4*n*each, st.Bytes)
					assert.Equal(t, numbers(n*each, 0, 1), got)
					size, err := f.Size(background)
					require.NoError(t, err)
					assert.EqualValues(t, 8+4*n*each, size)
				})
			})
			require.NoError(t, file.Delete(background, name, nil))
		}
	})
}

// TestPointers: positions, seeks and offsets count etypes of the view.
func TestPointers(t *testing.T) {
	everywhere(t, func(t *testing.T, name string) {
		ranks(t, 2, func(t *testing.T, w *mpi.Comm) {
			open(t, w, name, file.ModeRdwr|file.ModeCreate, nil, func(f *file.File) {
				require.NoError(t, f.SetSize(background, 50))
				require.NoError(t, f.SetView(background, 3, datatype.Int32, column(t, 1, 3), file.Native, nil))
				disp, etype, filetype, rep := f.View()
				assert.EqualValues(t, 3, disp)
				assert.Equal(t, datatype.Int32, etype)
				assert.Equal(t, 4, filetype.Size())
				assert.Equal(t, file.Native, rep)
				require.NoError(t, f.Seek(background, 0, io.SeekEnd))
				assert.EqualValues(t, 4, f.Position(), "the first whole or broken etype behind the end")
				at, err := f.ByteOffset(4)
				require.NoError(t, err)
				assert.EqualValues(t, 3+4+4*12, at)
				require.NoError(t, f.Seek(background, -3, io.SeekCurrent))
				assert.EqualValues(t, 1, f.Position())
				assert.ErrorIs(t, f.Seek(background, -2, io.SeekCurrent), mpi.ErrArg)
				assert.ErrorIs(t, f.Seek(background, 1, 9), mpi.ErrArg)
				require.NoError(t, f.Seek(background, 1<<62, io.SeekStart))
				_, err = f.Read(background, buf(numbers(3, 0, 1)))
				assert.ErrorIs(t, err, mpi.ErrArg, "beyond 64 bits")
				assert.EqualValues(t, 1<<62, f.Position(), "a failed call does not move the pointer")
				_, err = f.ByteOffset(-1)
				assert.ErrorIs(t, err, mpi.ErrArg)
				_, err = f.ReadAt(background, 0, buf([]byte{1, 2, 3}))
				assert.ErrorIs(t, err, mpi.ErrArg, "not whole etypes")
				extent, err := f.TypeExtent(datatype.Complex128)
				require.NoError(t, err)
				assert.EqualValues(t, 16, extent)
				_, err = f.TypeExtent(nil)
				assert.ErrorIs(t, err, mpi.ErrType)
				assert.ErrorIs(t, f.SeekShared(background, int64(w.Rank()), io.SeekStart), mpi.ErrNotSame)
				assert.ErrorIs(t, f.SeekShared(background, -1, io.SeekStart), mpi.ErrArg)
				st, err := f.ReadAt(background, 100, buf(numbers(3, 0, 1)))
				require.NoError(t, err)
				assert.Zero(t, st.Bytes, "behind the end")
			})
		})
	})
}

// TestSizes: sizes are set on all ranks at once, and bytes stay.
func TestSizes(t *testing.T) {
	everywhere(t, func(t *testing.T, name string) {
		ranks(t, 2, func(t *testing.T, w *mpi.Comm) {
			open(t, w, name, file.ModeRdwr|file.ModeCreate, nil, func(f *file.File) {
				_, err := f.WriteAtAll(background, int64(5*w.Rank()), buf([]byte("12345")))
				require.NoError(t, err)
				require.NoError(t, f.Preallocate(background, 5))
				require.NoError(t, f.Sync(background))
				size, err := f.Size(background)
				require.NoError(t, err)
				assert.EqualValues(t, 10, size, "no shorter than before")
				require.NoError(t, f.Preallocate(background, 300_000))
				size, err = f.Size(background)
				require.NoError(t, err)
				assert.EqualValues(t, 300_000, size)
				require.NoError(t, f.SetSize(background, 7))
				got := make([]byte, 20)
				st, err := f.ReadAll(background, buf(got))
				require.NoError(t, err)
				assert.Equal(t, "1234512", string(got[:st.Bytes]))
				assert.ErrorIs(t, f.SetSize(background, -1), mpi.ErrArg)
				assert.ErrorIs(t, f.SetSize(background, int64(w.Rank())), mpi.ErrNotSame)
			})
			open(t, w, name, file.ModeRdonly, nil, func(f *file.File) {
				assert.ErrorIs(t, f.SetSize(background, 1), mpi.ErrReadOnly)
				assert.ErrorIs(t, f.Preallocate(background, 1), mpi.ErrReadOnly)
			})
		})
	})
}

// TestModes: what the modes allow.
func TestModes(t *testing.T) {
	everywhere(t, func(t *testing.T, name string) {
		ranks(t, 2, func(t *testing.T, w *mpi.Comm) {
			fails := func(class mpi.ErrorClass, mode file.Mode) {
				t.Helper()
				_, err := file.Open(background, w, name, mode, nil)
				assert.ErrorIs(t, err, class)
			}
			for _, mode := range []file.Mode{
				0, file.ModeCreate, file.ModeRdonly | file.ModeRdwr, file.ModeRdonly | file.ModeCreate, file.ModeRdwr | file.ModeSequential, 1 << 20, -1,
			} {
				fails(mpi.ErrAmode, mode)
			}
			fails(mpi.ErrNotSame, []file.Mode{file.ModeRdonly, file.ModeRdwr}[w.Rank()])
			fails(mpi.ErrNoSuchFile, file.ModeRdonly)
			fails(mpi.ErrNoSuchFile, file.ModeRdwr)
			bytes := []byte("abc")
			open(t, w, name, file.ModeWronly|file.ModeCreate|file.ModeExcl|file.ModeUniqueOpen, nil, func(f *file.File) {
				_, err := f.WriteOrdered(background, buf(bytes))
				require.NoError(t, err)
				_, err = f.ReadAll(background, buf(bytes))
				assert.ErrorIs(t, err, mpi.ErrAccess)
				_, err = f.Iread(buf(bytes)).Wait(background)
				assert.ErrorIs(t, err, mpi.ErrAccess)
				assert.Equal(t, name, f.Name())
				assert.Equal(t, file.ModeWronly|file.ModeCreate|file.ModeExcl|file.ModeUniqueOpen, f.Mode())
				assert.Equal(t, 2, f.Group().Size())
			})
			fails(mpi.ErrFileExists, file.ModeRdwr|file.ModeCreate|file.ModeExcl)
			open(t, w, name, file.ModeRdwr|file.ModeAppend|file.ModeDeleteOnClose, nil, func(f *file.File) {
				assert.EqualValues(t, 6, f.Position())
				at, err := f.PositionShared(background)
				require.NoError(t, err)
				assert.EqualValues(t, 6, at)
				_, err = f.WriteOrdered(background, buf([]byte{byte(w.Rank())}))
				require.NoError(t, err)
				size, err := f.Size(background)
				require.NoError(t, err)
				assert.EqualValues(t, 8, size)
			})
			fails(mpi.ErrNoSuchFile, file.ModeRdonly)
			assert.ErrorIs(t, file.Delete(background, name, nil), mpi.ErrNoSuchFile)
		})
	})
	ranks(t, 1, func(t *testing.T, w *mpi.Comm) {
		for _, name := range []string{"", "a\x00b", "pvfs:", "pvfs:tcp://host/fs", "/"} {
			_, err := file.Open(background, w, name, file.ModeRdwr|file.ModeCreate, nil)
			assert.Contains(t, []mpi.ErrorClass{mpi.ErrBadFile, mpi.ErrNoSuchFile}, errclass.Of(err), "%q", name)
			assert.Error(t, file.Delete(background, name, nil))
		}
		_, err := file.Open(background, nil, "x", file.ModeRdonly, nil)
		assert.ErrorIs(t, err, mpi.ErrComm)
	})
}

// TestOverlappingView: a file that is only read may have a view with some bytes several times.
func TestOverlappingView(t *testing.T) {
	everywhere(t, func(t *testing.T, name string) {
		ranks(t, 2, func(t *testing.T, w *mpi.Comm) {
			twice, err := datatype.Resized(datatype.Int32, 0, 2)
			require.NoError(t, err)
			open(t, w, name, file.ModeRdwr|file.ModeCreate, nil, func(f *file.File) {
				_, err := f.WriteAll(background, buf([]byte("0123456789")))
				require.NoError(t, err)
				assert.ErrorIs(t, f.SetView(background, 0, datatype.Int32, twice, file.Native, nil), mpi.ErrType)
			})
			open(t, w, name, file.ModeRdonly, nil, func(f *file.File) {
				require.NoError(t, f.SetView(background, 0, datatype.Int32, twice, file.Native, nil))
				for _, read := range []func(b mpi.Buffer) (mpi.Status, error){
					func(b mpi.Buffer) (mpi.Status, error) { return f.ReadAt(background, 0, b) },
					func(b mpi.Buffer) (mpi.Status, error) { return f.ReadAtAll(background, 0, b) },
				} {
					got := make([]byte, 16)
					st, err := read(buf(got))
					require.NoError(t, err)
					assert.Equal(t, 16, st.Bytes)
					assert.Equal(t, "0123234545676789", string(got))
				}
			})
		})
	})
}

// TestExternal32: the bytes of a file in external32, and of one in the native representation.
func TestExternal32(t *testing.T) {
	type record struct {
		A int16
		B int32
		C float64
		D complex64
		E [3]uint8
	}
	records := []record{{-2, 1 << 20, 1.5, complex(2, -3), [3]uint8{1, 2, 3}}, {7, -1, -0.25, 0, [3]uint8{4, 5, 6}}}
	want := []byte{
		0xff, 0xfe, 0x00, 0x10, 0x00, 0x00, 0x3f, 0xf8, 0, 0, 0, 0, 0, 0, 0x40, 0, 0, 0, 0xc0, 0x40, 0, 0, 1, 2, 3,
		0x00, 0x07, 0xff, 0xff, 0xff, 0xff, 0xbf, 0xd0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 5, 6,
	}
	everywhere(t, func(t *testing.T, name string) {
		ranks(t, 2, func(t *testing.T, w *mpi.Comm) {
			// Small buffers cut numbers.
			hints := []string{"ind_wr_buffer_size", "4096", "ind_rd_buffer_size", "4096", "cb_buffer_size", "4097", "romio_cb_write", "enable"}
			open(t, w, name, file.ModeRdwr|file.ModeCreate, hints, func(f *file.File) {
				require.NoError(t, f.SetView(background, 0, datatype.Byte, datatype.Byte, file.External32, nil))
				_, err := f.WriteAtAll(background, int64(w.Rank()*len(want)), buf(records))
				require.NoError(t, err)
				got := make([]record, 4)
				st, err := f.ReadAt(background, 0, buf(got))
				require.NoError(t, err)
				assert.Equal(t, 2*len(want), st.Bytes)
				assert.Equal(t, append(records, records...), got)

				require.NoError(t, f.SetView(background, 0, datatype.Byte, datatype.Byte, file.Internal, nil))
				raw := make([]byte, 2*len(want))
				_, err = f.ReadAll(background, buf(raw))
				require.NoError(t, err)
				assert.Equal(t, append(want, want...), raw)

				many := numbers(10_000, 0, 1)
				require.NoError(t, f.SetView(background, 1, datatype.Int32, column(t, w.Rank(), 2), file.External32, nil))
				_, err = f.WriteAll(background, buf(many))
				require.NoError(t, err)
				back := make([]int32, len(many))
				_, err = f.ReadAt(background, 0, buf(back))
				require.NoError(t, err)
				assert.Equal(t, many, back)
				one := make([]byte, 4)
				require.NoError(t, f.SetView(background, 1+8*9999, datatype.Byte, datatype.Byte, file.Native, nil))
				_, err = f.ReadAll(background, buf(one))
				require.NoError(t, err)
				assert.Equal(t, []byte{0, 0, 0x27, 0x0f}, one)
				assert.ErrorIs(t, f.SetView(background, 0, datatype.Byte, datatype.Byte, "cray", nil), mpi.ErrUnsupportedDatarep)
				other := []*datatype.Type{datatype.Byte, datatype.Int16}[w.Rank()]
				assert.ErrorIs(t, f.SetView(background, 0, other, other, file.Native, nil), mpi.ErrNotSame)
			})
		})
	})
}

// TestHints: known hints are checked, unknown ones are ignored, and all in use are returned.
func TestHints(t *testing.T) {
	everywhere(t, func(t *testing.T, name string) {
		ranks(t, 2, func(t *testing.T, w *mpi.Comm) {
			for _, wrong := range [][]string{
				{"cb_nodes", "0"}, {"cb_nodes", "many"}, {"cb_buffer_size", "-1"}, {"romio_cb_read", "perhaps"}, {"romio_ds_write", ""},
				{"ind_rd_buffer_size", "99999999999999"}, {"striping_unit", "1.5"}, {"striping_factor", "0"}, {"file_perm", "9"},
			} {
				info, err := newInfo(wrong...)
				require.NoError(t, err)
				mine := info
				if w.Rank() == 0 {
					mine = nil
				}
				_, err = file.Open(background, w, name, file.ModeRdwr|file.ModeCreate, mine)
				require.ErrorIs(t, err, mpi.ErrInfoValue, "%v", wrong)
			}
			hints := []string{"cb_nodes", "1", "romio_ds_write", "disable", "no_such_hint", "x", "striping_unit", "12288", "file_perm", "640"}
			open(t, w, name, file.ModeRdwr|file.ModeCreate, hints, func(f *file.File) {
				get := func(key string) string {
					value, _ := f.Info().Get(key)
					return value
				}
				assert.Equal(t, "1", get("cb_nodes"))
				assert.Equal(t, "disable", get("romio_ds_write"))
				assert.Equal(t, "automatic", get("romio_cb_write"))
				assert.Equal(t, "640", get("file_perm"))
				assert.Empty(t, get("no_such_hint"))
				info, err := newInfo("romio_cb_write", []string{"enable", "disable"}[w.Rank()], "ind_rd_buffer_size", "8192")
				require.NoError(t, err)
				require.NoError(t, f.SetInfo(background, info))
				assert.Equal(t, "enable", get("romio_cb_write"), "rank 0's")
				assert.Equal(t, "8192", get("ind_rd_buffer_size"))
				info, err = newInfo("cb_nodes", "x")
				require.NoError(t, err)
				assert.ErrorIs(t, f.SetInfo(background, info), mpi.ErrInfoValue)
				assert.ErrorIs(t, f.SetView(background, 0, datatype.Byte, datatype.Byte, file.Native, info), mpi.ErrInfoValue)
				if strings.HasPrefix(name, "pvfs:") {
					assert.Equal(t, "12288", get("striping_unit"))
				} else if st, err := os.Stat(name); assert.NoError(t, err) {
					assert.Zero(t, st.Mode().Perm()&^0o640)
				}
			})
		})
	})
}

// TestHandler: the error handler sees errors before they are returned, also those of requests.
func TestHandler(t *testing.T) {
	everywhere(t, func(t *testing.T, name string) {
		ranks(t, 1, func(t *testing.T, w *mpi.Comm) {
			open(t, w, name, file.ModeWronly|file.ModeCreate, nil, func(f *file.File) {
				var seen []error
				f.SetErrorHandler(func(of *file.File, err error) {
					assert.Same(t, f, of)
					seen = append(seen, err)
				})
				_, first := f.Read(background, buf([]byte{1}))
				_, second := f.IreadAll(buf([]byte{1})).Wait(background)
				third := f.Seek(background, -1, io.SeekStart)
				fourth := f.CallErrorHandler(io.ErrShortWrite)
				assert.Equal(t, []error{first, second, third, fourth}, seen)
				assert.NotNil(t, f.ErrorHandler())
				f.SetErrorHandler(nil)
				assert.Nil(t, f.ErrorHandler())
				_, err := f.Read(background, buf([]byte{1}))
				assert.Error(t, err)
				assert.Len(t, seen, 4)
				_, err = f.End(background)
				assert.ErrorIs(t, err, mpi.ErrRequest)
				require.NoError(t, f.WriteAllBegin(buf([]byte{1})))
				assert.ErrorIs(t, f.WriteAllBegin(buf([]byte{1})), mpi.ErrRequest)
				_, err = f.End(background)
				require.NoError(t, err)
			})
		})
	})
}

// TestEmptyRanks: ranks without bytes take part in collective operations, also with an empty
// filetype.
func TestEmptyRanks(t *testing.T) {
	everywhere(t, func(t *testing.T, name string) {
		ranks(t, 3, func(t *testing.T, w *mpi.Comm) {
			hints := []string{"romio_cb_write", "enable", "romio_cb_read", "enable"}
			open(t, w, name, file.ModeRdwr|file.ModeCreate, hints, func(f *file.File) {
				none, err := datatype.Contiguous(0, datatype.Byte)
				require.NoError(t, err)
				filetype, mem := none, []byte{}
				if w.Rank() == 1 {
					filetype, mem = datatype.Byte, []byte("only me")
				}
				require.NoError(t, f.SetView(background, 0, datatype.Byte, filetype, file.Native, nil))
				_, err = f.WriteAll(background, buf(mem))
				require.NoError(t, err)
				_, err = f.ReadAtAll(background, 0, mpi.InPlace)
				require.NoError(t, err)
				if w.Rank() != 1 {
					_, err = f.WriteAt(background, 0, buf([]byte{1}))
					assert.ErrorIs(t, err, mpi.ErrType)
					_, err = f.ByteOffset(0)
					assert.ErrorIs(t, err, mpi.ErrType)
				}
			})
		})
	})
}
