package file_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	_ "github.com/viaduct-hpc/viaduct/bmi/bmitest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	_ "github.com/viaduct-hpc/viaduct/methods/tcp"
	_ "github.com/viaduct-hpc/viaduct/methods/via"
	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/file"
	"github.com/viaduct-hpc/viaduct/mpi/info"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var background = context.Background()

// places are the kinds of storage that files are tested on: each returns the name of a new file.
var places = []struct {
	name string
	make func(t testing.TB) func(name string) string
}{
	{"posix", func(t testing.TB) func(string) string {
		dir := t.TempDir()
		return func(name string) string { return filepath.Join(dir, name) }
	}},
	{"pvfs", func(t testing.TB) func(string) string {
		c := pvfstest.Start(t, pvfstest.Options{Servers: 3})
		return func(name string) string { return "pvfs:" + c.Source() + "/" + name }
	}},
}

// everywhere runs fn on each kind of storage, with the name of a new file.
func everywhere(t *testing.T, fn func(t *testing.T, name string)) {
	for _, p := range places {
		t.Run(p.name, func(t *testing.T) { fn(t, p.make(t)("file")) })
	}
}

// ranks runs fn on n ranks.
func ranks(t *testing.T, n int, fn func(t *testing.T, w *mpi.Comm)) {
	t.Helper()
	mpitest.Run(t, n, mpitest.Options{}, func(t *testing.T, p *mpi.Process) { fn(t, p.World()) })
}

// buf is the memory of a slice.
func buf[T any](xs []T) mpi.Buffer { return mpi.Slice(xs) }

// newInfo makes hints of keys and values.
func newInfo(keysAndValues ...string) (*mpi.Info, error) { return info.New(keysAndValues...) }

// open opens a file, and closes it at the end of fn.
func open(t *testing.T, w *mpi.Comm, name string, mode file.Mode, hints []string, fn func(f *file.File)) {
	t.Helper()
	info, err := newInfo(hints...)
	require.NoError(t, err)
	f, err := file.Open(background, w, name, mode, info)
	require.NoError(t, err)
	fn(f)
	require.NoError(t, f.Close(background))
}

// column is the view of rank me of n: every n-th int32.
func column(t *testing.T, me, n int) *datatype.Type {
	t.Helper()
	v, err := datatype.Resized(datatype.Int32, 0, 4*n)
	require.NoError(t, err)
	v, err = datatype.Hindexed([]int{1}, []int{4 * me}, v)
	require.NoError(t, err)
	v, err = datatype.Resized(v, 0, 4*n)
	require.NoError(t, err)
	return v
}

// numbers is n numbers from first on, step apart.
func numbers(n, first, step int) []int32 {
	xs := make([]int32, n)
	for i := range xs {
		xs[i] = int32(first + i*step)
	}
	return xs
}
