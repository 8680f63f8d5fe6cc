package file_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/file"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
)

// TestServerKilled: a server of the file system is killed before a collective write, or amid it. All
// ranks get an error of one class, unless the write was done before. When the server is back, the
// bytes that were not to be written are as they were.
func TestServerKilled(t *testing.T) {
	const n, half = 3, 100_000
	c := pvfstest.Start(t, pvfstest.Options{Text: impatient(t, n)})
	old, wanted := numbers(2*half, 1, 0), numbers(half, 2, 0)
	for victim := range n {
		for _, amid := range []bool{false, true} {
			what := fmt.Sprintf("server %d, amid the write: %t", victim, amid)
			name := fmt.Sprintf("pvfs:%s/file-%d-%t", c.Source(), victim, amid)
			errs := make([]error, n)
			ranks(t, n, func(t *testing.T, w *mpi.Comm) {
				info, err := newInfo("romio_cb_write", "enable", "cb_buffer_size", "65536")
				require.NoError(t, err)
				f, err := file.Open(background, w, name, file.ModeRdwr|file.ModeCreate, info)
				require.NoError(t, err)
				require.NoError(t, f.SetView(background, 0, datatype.Int32, column(t, w.Rank(), n), file.Native, nil))
				_, err = f.WriteAtAll(background, 0, buf(old))
				require.NoError(t, err)
				require.NoError(t, f.Sync(background))
				dead := make(chan struct{})
				kill := func() {
					c.Kill(victim)
					close(dead)
				}
				switch {
				case w.Rank() != 0:
					close(dead)
				case amid:
					go kill()
				default:
					kill()
				}
				require.NoError(t, w.Barrier(background))
				_, errs[w.Rank()] = f.WriteAtAll(background, half, buf(wanted))
				<-dead
				_ = f.Close(background) // it may need the server
			})
			for rank, err := range errs {
				assert.Equal(t, errclass.Of(errs[0]), errclass.Of(err), "%s, rank %d: %v", what, rank, err)
				if !amid {
					assert.ErrorContains(t, err, c.Address(victim), "%s, rank %d", what, rank)
				}
			}
			c.Start(victim)
			c.WaitReady()
			ranks(t, n, func(t *testing.T, w *mpi.Comm) {
				open(t, w, name, file.ModeRdonly, nil, func(f *file.File) {
					require.NoError(t, f.SetView(background, 0, datatype.Int32, column(t, w.Rank(), n), file.Native, nil))
					got := make([]int32, 2*half)
					_, err := f.ReadAtAll(background, 0, buf(got))
					require.NoError(t, err)
					assert.Equal(t, old[:half], got[:half], what)
					for _, x := range got[half:] {
						if x != old[0] && x != wanted[0] {
							require.Fail(t, "a number that nobody wrote", "%s: %d", what, x)
						}
					}
				})
			})
		}
	}
}

// impatient is a configuration of n servers whose clients give up soon.
func impatient(t *testing.T, n int) string {
	t.Helper()
	gen := config.GenOptions{DataDir: "/nowhere/data", MetaDir: "/nowhere/meta"}
	for i := range n {
		gen.Servers = append(gen.Servers, config.GenServer{Alias: fmt.Sprint("server", i), Address: fmt.Sprintf("tcp://nowhere:%d", 5000+i)})
	}
	text, err := config.Generate(gen)
	require.NoError(t, err)
	for from, to := range map[string]string{"ClientRetryLimit 5": "ClientRetryLimit 1", "ClientRetryDelayMilliSecs 2000": "ClientRetryDelayMilliSecs 1"} {
		require.Contains(t, text, from)
		text = strings.ReplaceAll(text, from, to)
	}
	return text
}
