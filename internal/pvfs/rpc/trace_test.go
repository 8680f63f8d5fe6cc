package rpc

import (
	"context"
	"encoding/json"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/trace"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
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

// tracedEvent is an event as a reader sees it.
type tracedEvent struct {
	Name, Cat, Ph string
	Args          map[string]any
}

// TestTrace: the traces of both sides have the requests. The server's trace says how the time was
// spent.
func TestTrace(t *testing.T) {
	w := newWorld(t, "mem")
	f := &traceFile{}
	tr, err := trace.New(f, trace.Options{Every: -1})
	require.NoError(t, err)
	w.trace = tr
	d := &disk{}
	s, address, stop := w.serve(d.handle, ServerOptions{})
	require.NotNil(t, s.trace)
	c, to := w.caller(address, Options{})
	require.NoError(t, noop(c, to))
	data := make([]byte, 700_000)
	bg := context.Background()
	_, err = c.WriteFlow(bg, &Flow{To: to, Request: &proto.IOReq{Handle: 1 << 60, Aggregate: int64(len(data))}, Total: int64(len(data)), Memory: Bytes(data)})
	require.NoError(t, err)
	_, err = c.ReadFlow(bg, &Flow{To: to, Request: &proto.IOReq{Handle: 1 << 60, Aggregate: 500_000}, Total: 500_000, Memory: Bytes(data[:500_000])})
	require.NoError(t, err)
	err = c.Call(bg, to, nil, &proto.RemoveReq{Handle: 5}, &proto.GetAttrResp{})
	require.Error(t, err, "an answer of another kind")
	stop()
	require.NoError(t, tr.Close())

	var all []tracedEvent
	require.NoError(t, json.Unmarshal(f.bytes, &all))
	ends := map[string][]map[string]any{}
	for _, e := range all {
		if e.Ph == "e" && e.Cat != "bmi" {
			ends[e.Cat+" "+e.Name] = append(ends[e.Cat+" "+e.Name], e.Args)
		}
	}
	for _, side := range []string{"pvfs client ", "pvfs server "} {
		require.Len(t, ends[side+"MGMT_NOOP"], 1, side)
		io := ends[side+"IO"]
		require.Len(t, io, 2, side)
		for i, bytes := range []float64{700_000, 500_000} {
			assert.Equal(t, bytes, io[i]["bytes"], side)
			assert.Equal(t, "1152921504606846976", io[i]["handle"], side)
			assert.NotContains(t, io[i], "result")
		}
	}
	assert.Equal(t, ErrBadAnswer.Error(), ends["pvfs client REMOVE"][0]["result"])
	require.Len(t, ends["pvfs server queued"], 4)
	for _, r := range ends["pvfs server IO"] {
		parts := r["queued_us"].(float64) + r["disk_us"].(float64) + r["network_us"].(float64) + r["servers_us"].(float64)
		assert.LessOrEqual(t, parts, r["us"], "the parts are of the whole")
		assert.Greater(t, parts, r["us"].(float64)-5, "each is cut to microseconds")
	}
}

// TestNoTrace: without a trace nothing is kept for one.
func TestNoTrace(t *testing.T) {
	w := newWorld(t, "mem")
	s, address, _ := w.serve((&disk{}).handle, ServerOptions{})
	c, to := w.caller(address, Options{})
	require.NoError(t, noop(c, to))
	require.Nil(t, s.trace)
	require.Nil(t, c.trace)
}
