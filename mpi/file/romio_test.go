package file_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/need"
	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/file"
)

// TestFilesOfROMIO reads what MPICH's implementation has written in the views of three ranks
// (testdata/views.c): the same views are the same bytes, in both representations.
func TestFilesOfROMIO(t *testing.T) {
	mpicc := need.Program(t, "mpicc.mpich")
	dir := t.TempDir()
	binary := filepath.Join(dir, "views")
	text, err := exec.Command(mpicc, "-o", binary, "testdata/views.c").CombinedOutput()
	require.NoError(t, err, "%s", text)
	t.Setenv("UCX_NET_DEVICES", "lo") // other interfaces may disappear while it looks at them
	text, err = exec.Command(binary, dir).CombinedOutput()
	require.NoError(t, err, "%s", text)
	const each = 40
	views := []func(rank int) (*datatype.Type, error){
		func(rank int) (*datatype.Type, error) {
			return datatype.Darray(3, rank, []int{10, 21}, []datatype.Distribution{datatype.DistributeBlock, datatype.DistributeCyclic},
				[]int{datatype.DefaultArg, 3}, []int{1, 3}, datatype.OrderC, datatype.Int32)
		},
		func(rank int) (*datatype.Type, error) {
			return datatype.Subarray([]int{10, 21}, []int{10, 7}, []int{0, 7 * rank}, datatype.OrderFortran, datatype.Int32)
		},
		func(rank int) (*datatype.Type, error) {
			v, err := datatype.Vector(5, 2, 6, datatype.Int32)
			if err != nil {
				return nil, err
			}
			if v, err = datatype.HindexedBlock(1, []int{8 * rank}, v); err != nil {
				return nil, err
			}
			return datatype.Resized(v, 0, 4*6*5)
		},
	}
	for which, view := range views {
		for _, rep := range []file.Datarep{file.Native, file.External32} {
			name := filepath.Join(dir, fmt.Sprintf("%d-%s", which, rep))
			ranks(t, 3, func(t *testing.T, w *mpi.Comm) {
				open(t, w, name, file.ModeRdonly, []string{"romio_cb_read", "enable"}, func(f *file.File) {
					filetype, err := view(w.Rank())
					require.NoError(t, err)
					require.NoError(t, f.SetView(background, 4, datatype.Int32, filetype, rep, nil))
					got := make([]int32, each)
					for _, read := range []func() (mpi.Status, error){
						func() (mpi.Status, error) { return f.ReadAtAll(background, 5, buf(got)) },
						func() (mpi.Status, error) { return f.ReadAt(background, 5, buf(got)) },
					} {
						clear(got)
						st, err := read()
						require.NoError(t, err)
						assert.Equal(t, 4*each, st.Bytes)
						assert.Equal(t, numbers(each, 1000*w.Rank(), 1), got, "view %d, %s, rank %d", which, rep, w.Rank())
					}
				})
			})
		}
	}
}
