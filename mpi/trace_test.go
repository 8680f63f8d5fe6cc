package mpi_test

import (
	"encoding/json"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/trace"
	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/file"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
)

// traceFile is the file of a trace in memory.
type traceFile struct {
	mu    sync.Mutex
	bytes []byte
}

func (f *traceFile) WriteAt(p []byte, at int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.bytes = append(f.bytes[:at], p...)
	return len(p), nil
}

// A counter is a program's own hook, which must still be called, and find its own data.
type counter struct {
	mu sync.Mutex
	n  int
}

func (c *counter) Enter(call *mpi.Call) { call.Data = "mine " + call.Name }

func (c *counter) Leave(call *mpi.Call, _ error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if call.Data == "mine "+call.Name {
		c.n++
	}
}

// TestTrace: the trace has calls, including those of files, with their communicator, peer, bytes and result. Calls that run at
// once are on different tracks.
func TestTrace(t *testing.T) {
	files, traces, own := make([]*traceFile, 2), make([]*trace.Trace, 2), &counter{}
	for i := range files {
		files[i] = &traceFile{}
		var err error
		traces[i], err = trace.New(files[i], trace.Options{Every: -1})
		require.NoError(t, err)
	}
	name := t.TempDir() + "/file"
	o := mpitest.Options{Each: func(rank int, o *mpi.Options) { o.Endpoint.Trace, o.Hook = traces[rank], own }}
	mpitest.Run(t, 2, o, func(t *testing.T, p *mpi.Process) {
		w, rank := p.World(), p.World().Rank()
		swapped, err := w.Split(bg, 0, 1-rank)
		require.NoError(t, err)
		require.NoError(t, swapped.SetName("swapped"))
		x := []int64{1, 2, 3}
		if rank == 0 {
			require.NoError(t, w.Send(bg, mpi.Slice(x), 1, 7))
			require.ErrorIs(t, w.Send(bg, mpi.Slice(x), 9, 7), mpi.ErrRank)
		} else {
			_, err := w.Recv(bg, mpi.Slice(x), mpi.AnySource, 7)
			require.NoError(t, err)
		}
		// Rank 0 of this communicator is rank 1 of the world.
		_, err = swapped.Sendrecv(bg, mpi.Slice(x), 1-swapped.Rank(), 1, mpi.Slice(make([]int64, 3)), 1-swapped.Rank(), 1)
		require.NoError(t, err)
		f, err := file.Open(bg, w, name, file.ModeRdwr|file.ModeCreate, nil)
		require.NoError(t, err)
		_, err = f.WriteAt(bg, int64(rank)*24, mpi.Slice(x))
		require.NoError(t, err)
		require.NoError(t, f.Close(bg))
	})
	seen := map[string][]map[string]any{} // of rank 0
	n := 0
	for i := range files {
		require.NoError(t, traces[i].Close())
		var all []struct {
			Name, Cat, Ph string
			TID           int
			Args          map[string]any
		}
		require.NoError(t, json.Unmarshal(files[i].bytes, &all))
		for _, e := range all {
			if e.Cat == "mpi" {
				n++
				if i == 0 {
					seen[e.Name] = append(seen[e.Name], e.Args)
				}
			}
		}
	}
	require.Equal(t, own.n, n, "the program's hook sees the same calls")
	send := seen["MPI_Send"]
	require.Len(t, send, 2)
	assert.Equal(t, map[string]any{"bytes": 24.0, "peer": 1.0, "tag": 7.0, "world_peer": 1.0, "ranks": 2.0, "comm": "MPI_COMM_WORLD"}, send[0])
	assert.Contains(t, send[1]["result"], "rank 9")
	assert.NotContains(t, send[1], "world_peer")
	require.Len(t, seen["MPI_Sendrecv"], 1)
	assert.Equal(t, "swapped", seen["MPI_Sendrecv"][0]["comm"])
	assert.Equal(t, 0.0, seen["MPI_Sendrecv"][0]["peer"], "in the communicator")
	assert.Equal(t, 1.0, seen["MPI_Sendrecv"][0]["world_peer"])
	assert.Equal(t, 24.0, seen["MPI_File_write_at"][0]["bytes"])
	for _, name := range []string{"MPI_File_open", "MPI_File_close", "MPI_Comm_split", "MPI_Comm_set_name", "MPI_Finalize"} {
		assert.Len(t, seen[name], 1, name)
	}
}

// TestTraceOfCallsAtOnce: no two calls on one track overlap.
func TestTraceOfCallsAtOnce(t *testing.T) {
	f := &traceFile{}
	tr, err := trace.New(f, trace.Options{Every: -1})
	require.NoError(t, err)
	mpitest.Run(t, 1, mpitest.Options{Each: func(_ int, o *mpi.Options) { o.Endpoint.Trace = tr }}, func(t *testing.T, p *mpi.Process) {
		var all sync.WaitGroup
		for tag := range 100 { // more than there are tracks
			all.Go(func() {
				x := []int64{0}
				_, err := p.World().Recv(bg, mpi.Slice(x), 0, tag)
				assert.NoError(t, err)
			})
		}
		for tag := range 100 {
			require.NoError(t, p.World().Send(bg, mpi.Slice([]int64{1}), 0, tag))
		}
		all.Wait()
	})
	require.NoError(t, tr.Close())
	var events []struct {
		Cat     string
		TID     int
		TS, Dur float64
	}
	require.NoError(t, json.Unmarshal(f.bytes, &events))
	ends := map[int]float64{}
	for _, e := range events {
		if e.Cat == "mpi" {
			assert.LessOrEqual(t, ends[e.TID], e.TS+0.001, "in order on each track")
			ends[e.TID] = e.TS + e.Dur
		}
	}
	require.NotEmpty(t, ends)
}
