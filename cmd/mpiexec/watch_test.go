package main

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/watch"
	"github.com/viaduct-hpc/viaduct/mpi"
	_ "github.com/viaduct-hpc/viaduct/watch"
)

// gateVariable names a FIFO at which rank 1 waits.
const gateVariable = "MPIEXEC_TEST_GATE"

// gated lets rank 0 wait in a barrier until the test opens the gate for rank 1.
func gated(ctx context.Context, p *mpi.Process) int {
	if p.World().Rank() == 1 {
		gate, err := os.Open(os.Getenv(gateVariable))
		if err != nil {
			return 20
		}
		_ = gate.Close()
	}
	if err := p.World().Barrier(ctx); err != nil {
		return 21
	}
	if err := p.Finalize(ctx); err != nil {
		return 22
	}
	return 0
}

// snapshots are those of all processes with a socket in a folder, by rank.
func snapshots(t *testing.T, folder string) map[int]*watch.Snapshot {
	t.Helper()
	sockets, err := filepath.Glob(filepath.Join(folder, "*.sock"))
	require.NoError(t, err)
	all := map[int]*watch.Snapshot{}
	for _, path := range sockets {
		c := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}}}
		r, err := c.Get("http://x/snapshot")
		require.NoError(t, err)
		s := new(watch.Snapshot)
		require.NoError(t, json.NewDecoder(r.Body).Decode(s))
		require.NoError(t, r.Body.Close())
		if s.Rank != nil {
			all[s.Rank.Rank] = s
		}
	}
	return all
}

// TestWatchedJob: each process of a job makes a socket in a folder, and shows there what it waits
// for.
func TestWatchedJob(t *testing.T) {
	dir := t.TempDir()
	folder, gate := filepath.Join(dir, "job"), filepath.Join(dir, "gate")
	require.NoError(t, unix.Mkfifo(gate, 0o600))
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := mpiexec(t, "-n", "2", "-env", mainVariable+"=", "-env", programVariable+"=gated", "-env", gateVariable+"="+gate, self)
	cmd.Env = append(cmd.Env, "VIADUCT_METRICS=dir:"+folder)
	require.NoError(t, cmd.Start())
	all := snapshots(t, folder)
	for all[0] == nil || all[1] == nil || len(all[0].Rank.Waits) == 0 {
		runtime.Gosched()
		all = snapshots(t, folder)
	}
	r := all[0].Rank
	assert.Equal(t, 2, r.Size)
	assert.NotEmpty(t, r.Job)
	assert.Equal(t, all[1].Rank.Job, r.Job)
	assert.Equal(t, "MPI_Barrier", r.Waits[0].Call)
	assert.Equal(t, []int{1}, r.Waits[0].Peers)
	assert.Empty(t, all[1].Rank.Waits, "rank 1 is in no call")
	open, err := os.OpenFile(gate, os.O_WRONLY, 0)
	require.NoError(t, err)
	require.NoError(t, open.Close())
	require.NoError(t, cmd.Wait())
	left, err := filepath.Glob(filepath.Join(folder, "*.sock"))
	require.NoError(t, err)
	assert.Empty(t, left)
}
