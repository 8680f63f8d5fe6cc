package checkpoint_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/checkpoint"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
)

// TestServerVanishes: a server of the file system ends. A save, or a restore, fails with one class on
// all ranks if it needs that server, and when the server is back the job goes on with what it had.
func TestServerVanishes(t *testing.T) {
	gen := config.GenOptions{DataDir: "/nowhere/data", MetaDir: "/nowhere/meta", NoSyncMeta: true}
	for i := range 3 {
		gen.Servers = append(gen.Servers, config.GenServer{Alias: fmt.Sprint("server", i), Address: fmt.Sprintf("tcp://nowhere:%d", 5000+i)})
	}
	text, err := config.Generate(gen)
	require.NoError(t, err)
	for from, to := range map[string]string{"ClientRetryLimit 5": "ClientRetryLimit 1", "ClientRetryDelayMilliSecs 2000": "ClientRetryDelayMilliSecs 1"} {
		require.Contains(t, text, from)
		text = strings.ReplaceAll(text, from, to)
	}
	c := pvfstest.Start(t, pvfstest.Options{Text: text})
	dir := "pvfs:" + c.Source() + "/store"
	ranks(t, 3, func(t *testing.T, w *mpi.Comm) {
		with(t, w, dir, checkpoint.Options{}, func(s *checkpoint.Store) { require.NoError(t, save(t, w, s, 1)) })
	})
	newest, failures := int64(1), 0
	for victim := range 3 {
		saved, loaded := make([]error, 3), make([]error, 3)
		ranks(t, 3, func(t *testing.T, w *mpi.Comm) {
			s, err := checkpoint.Open(bg, w, dir, checkpoint.Options{})
			require.NoError(t, err)
			if w.Rank() == 0 {
				c.Stop(victim)
			}
			require.NoError(t, w.Barrier(bg))
			saved[w.Rank()] = save(t, w, s, newest+1)
			_, loaded[w.Rank()] = s.Restore(bg)
			_ = s.Close(bg) // the directory is on a server that may be gone
		})
		for _, errs := range [][]error{saved, loaded} {
			for rank, err := range errs {
				assert.Equal(t, errclass.Of(errs[0]), errclass.Of(err), "server %d, rank %d: %v", victim, rank, err)
			}
		}
		if saved[0] != nil {
			failures++
		} else { // nothing of it is on that server
			newest++
		}
		c.Start(victim)
		c.WaitReady()
		assert.Equal(t, checkpoint.Restored{Step: newest}, restored(t, dir, 2), "server %d", victim)
	}
	assert.NotZero(t, failures, "one of the servers has the directory")
	ranks(t, 3, func(t *testing.T, w *mpi.Comm) {
		with(t, w, dir, checkpoint.Options{}, func(s *checkpoint.Store) { require.NoError(t, save(t, w, s, newest+1)) })
	})
	assert.Equal(t, checkpoint.Restored{Step: newest + 1}, restored(t, dir, 2))
}
