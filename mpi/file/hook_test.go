package file_test

import (
	"errors"
	"io"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/file"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
)

// A journal is a hook that writes down what it sees.
type journal struct {
	mu      sync.Mutex
	entered []string
	left    []string
	bytes   int
	errs    []error
}

func (j *journal) Enter(call *mpi.Call) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entered = append(j.entered, call.Name)
	j.bytes += call.Bytes
}

func (j *journal) Leave(call *mpi.Call, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.left = append(j.left, call.Name)
	if err != nil {
		j.errs = append(j.errs, err)
	}
}

// take returns what was seen since the last time, and checks that each call has been left.
func (j *journal) take(t *testing.T) (names []string, bytes int, errs []error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	assert.Equal(t, j.entered, j.left)
	names, bytes, errs = j.entered, j.bytes, j.errs
	j.entered, j.left, j.bytes, j.errs = nil, nil, 0, nil
	return names, bytes, errs
}

// TestHook: the hook sees each call once, with its bytes and its error, and none of those inside.
func TestHook(t *testing.T) {
	seen := make([]*journal, 2)
	for i := range seen {
		seen[i] = &journal{}
	}
	o := mpitest.Options{Each: func(rank int, o *mpi.Options) { o.Hook = seen[rank] }}
	name := t.TempDir() + "/file"
	mpitest.Run(t, 2, o, func(t *testing.T, p *mpi.Process) {
		j, w := seen[p.World().Rank()], p.World()
		j.take(t)
		var f *file.File
		xs := []int32{1, 2, 3, 4}
		b := buf(xs)
		ended := func(_ mpi.Status, err error) error { return err }
		with := func(r mpi.Request) error { return ended(r.Wait(background)) }
		for _, c := range []struct {
			names []string
			bytes int
			do    func() error
		}{
			{[]string{"MPI_Register_datarep"}, 0, func() error { return file.RegisterDatarep(p, stretched, stretching) }},
			{[]string{"MPI_File_open"}, 0, func() (err error) {
				f, err = file.Open(background, w, name, file.ModeRdwr|file.ModeCreate, nil)
				return err
			}},
			{[]string{"MPI_File_set_view"}, 0, func() error {
				return f.SetView(background, 0, datatype.Int32, datatype.Int32, stretched, nil)
			}},
			{[]string{"MPI_File_get_type_extent"}, 0, func() error { _, err := f.TypeExtent(datatype.Int32); return err }},
			{[]string{"MPI_File_set_info"}, 0, func() error { return f.SetInfo(background, nil) }},
			{[]string{"MPI_File_set_atomicity"}, 0, func() error { return f.SetAtomicity(background, false) }},
			{[]string{"MPI_File_preallocate"}, 0, func() error { return f.Preallocate(background, 1000) }},
			{[]string{"MPI_File_set_size"}, 0, func() error { return f.SetSize(background, 2000) }},
			{[]string{"MPI_File_get_size"}, 0, func() error { _, err := f.Size(background); return err }},
			{[]string{"MPI_File_sync"}, 0, func() error { return f.Sync(background) }},
			{[]string{"MPI_File_get_byte_offset"}, 0, func() error { _, err := f.ByteOffset(3); return err }},
			{[]string{"MPI_File_seek"}, 0, func() error { return f.Seek(background, 0, io.SeekStart) }},
			{[]string{"MPI_File_seek_shared"}, 0, func() error { return f.SeekShared(background, 0, io.SeekStart) }},
			{[]string{"MPI_File_get_position_shared"}, 0, func() error { _, err := f.PositionShared(background); return err }},

			{[]string{"MPI_File_write"}, 16, func() error { return ended(f.Write(background, b)) }},
			{[]string{"MPI_File_read"}, 16, func() error { return ended(f.Read(background, b)) }},
			{[]string{"MPI_File_write_all"}, 16, func() error { return ended(f.WriteAll(background, b)) }},
			{[]string{"MPI_File_read_all"}, 16, func() error { return ended(f.ReadAll(background, b)) }},
			{[]string{"MPI_File_write_at"}, 16, func() error { return ended(f.WriteAt(background, 0, b)) }},
			{[]string{"MPI_File_read_at"}, 16, func() error { return ended(f.ReadAt(background, 0, b)) }},
			{[]string{"MPI_File_write_at_all"}, 16, func() error { return ended(f.WriteAtAll(background, 0, b)) }},
			{[]string{"MPI_File_read_at_all"}, 16, func() error { return ended(f.ReadAtAll(background, 0, b)) }},
			{[]string{"MPI_File_write_shared"}, 16, func() error { return ended(f.WriteShared(background, b)) }},
			{[]string{"MPI_File_read_shared"}, 16, func() error { return ended(f.ReadShared(background, b)) }},
			{[]string{"MPI_File_write_ordered"}, 16, func() error { return ended(f.WriteOrdered(background, b)) }},
			{[]string{"MPI_File_read_ordered"}, 16, func() error { return ended(f.ReadOrdered(background, b)) }},

			{[]string{"MPI_File_iwrite", "MPI_Wait"}, 16, func() error { return with(f.Iwrite(b)) }},
			{[]string{"MPI_File_iread", "MPI_Wait"}, 16, func() error { return with(f.Iread(b)) }},
			{[]string{"MPI_File_iwrite_all", "MPI_Wait"}, 16, func() error { return with(f.IwriteAll(b)) }},
			{[]string{"MPI_File_iread_all", "MPI_Wait"}, 16, func() error { return with(f.IreadAll(b)) }},
			{[]string{"MPI_File_iwrite_at", "MPI_Wait"}, 16, func() error { return with(f.IwriteAt(0, b)) }},
			{[]string{"MPI_File_iread_at", "MPI_Wait"}, 16, func() error { return with(f.IreadAt(0, b)) }},
			{[]string{"MPI_File_iwrite_at_all", "MPI_Wait"}, 16, func() error { return with(f.IwriteAtAll(0, b)) }},
			{[]string{"MPI_File_iread_at_all", "MPI_Wait"}, 16, func() error { return with(f.IreadAtAll(0, b)) }},
			{[]string{"MPI_File_iwrite_shared", "MPI_Wait"}, 16, func() error { return with(f.IwriteShared(b)) }},
			{[]string{"MPI_File_iread_shared", "MPI_Wait"}, 16, func() error { return with(f.IreadShared(b)) }},

			{[]string{"MPI_File_write_all_begin", "MPI_File_write_all_end"}, 16, func() error { return ended(begun(f, f.WriteAllBegin(b))) }},
			{[]string{"MPI_File_read_all_begin", "MPI_File_read_all_end"}, 16, func() error { return ended(begun(f, f.ReadAllBegin(b))) }},
			{[]string{"MPI_File_write_at_all_begin", "MPI_File_write_at_all_end"}, 16, func() error { return ended(begun(f, f.WriteAtAllBegin(0, b))) }},
			{[]string{"MPI_File_read_at_all_begin", "MPI_File_read_at_all_end"}, 16, func() error { return ended(begun(f, f.ReadAtAllBegin(0, b))) }},
			{[]string{"MPI_File_write_ordered_begin", "MPI_File_write_ordered_end"}, 16, func() error { return ended(begun(f, f.WriteOrderedBegin(b))) }},
			{[]string{"MPI_File_read_ordered_begin", "MPI_File_read_ordered_end"}, 16, func() error { return ended(begun(f, f.ReadOrderedBegin(b))) }},
			{[]string{"MPI_File_close"}, 0, func() error { return f.Close(background) }},
		} {
			require.NoError(t, c.do(), "%v", c.names)
			names, bytes, errs := j.take(t)
			assert.Equal(t, c.names, names)
			assert.Equal(t, c.bytes, bytes, "%v", c.names)
			assert.Empty(t, errs)
		}
		for _, do := range []func() error{
			func() error { return file.RegisterDatarep(p, stretched, stretching) },
			func() error { _, err := f.Size(background); return err },
			func() error { return f.Close(background) },
			func() error { return ended(f.WriteAt(background, 0, b)) },
			func() error { _, err := f.End(background); return err },
			func() error { _, err := file.Open(background, w, "", file.ModeRdonly, nil); return err },
		} {
			err := do()
			require.Error(t, err)
			_, _, errs := j.take(t)
			require.Len(t, errs, 1)
			assert.True(t, errors.Is(err, errs[0]) || errors.Is(errs[0], err))
		}
	})
}
