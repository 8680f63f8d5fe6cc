package rpc

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// mixed is a Source with some of its messages in a file.
type mixed struct {
	t      testing.TB
	data   []byte
	file   *os.File
	inFile func(at int64) bool // nil: panics
	next   int64               // offset of the next byte to ask for
	fills  *atomic.Int64
}

func (m *mixed) Fill(b []byte, at int64) error {
	assert.Equal(m.t, m.next, at)
	m.next += int64(len(b))
	m.fills.Add(1)
	copy(b, m.data[at:])
	return nil
}

func (m *mixed) Range(n int, at int64) (bmi.FileRange, bool) {
	assert.Equal(m.t, m.next, at)
	if !m.inFile(at) {
		return bmi.FileRange{}, false
	}
	m.next += int64(n)
	return bmi.FileRange{File: m.file, Off: 7 + at, Len: n}, true
}

// TestFlowsFromFiles: messages from a file and from buffers arrive in order, and those from files take no buffers.
func TestFlowsFromFiles(t *testing.T) {
	const size, buffers = 10_000, 4
	kinds := map[string]func(at int64) bool{
		"all of them": func(int64) bool { return true },
		"every other": func(at int64) bool { return at/size%2 == 1 },
		"runs":        func(at int64) bool { return at/size/5%2 == 0 },
		"none":        func(int64) bool { return false },
	}
	overEach(t, func(t *testing.T, w *world) {
		for name, inFile := range kinds {
			for _, memory := range []int{0, 1} { // one buffer for each flow, then as many as the flow wants
				data := random(23*size + 123)
				file, err := os.Create(filepath.Join(t.TempDir(), "file"))
				require.NoError(t, err)
				t.Cleanup(func() { _ = file.Close() })
				_, err = file.WriteAt(data, 7)
				require.NoError(t, err)
				var fills, buffered atomic.Int64
				var files atomic.Bool
				s, address, stop := w.serve(func(c *Call) {
					can, _ := c.worker.s.ep.FileSends(c.Peer)
					files.Store(can)
					n := c.Request.(*proto.IOReq).Aggregate
					src := &mixed{t: t, data: data, file: file, inFile: inFile, fills: &fills}
					sent, err := c.SendFlow(&proto.IOResp{Size: n}, n, src)
					assert.NoError(t, err)
					assert.Equal(t, n, sent)
				}, ServerOptions{FlowBufferSize: size, FlowBuffers: buffers, FlowMemory: 1 + memory<<20})
				c, to := w.caller(address, Options{FlowBufferSize: size, FlowBuffers: buffers})
				for _, n := range []int{0, 1, size, size + 1, buffers * size, 22*size + 5, len(data)} {
					into := make([]byte, n)
					_, err := c.ReadFlow(context.Background(), &Flow{To: to, Request: ioReq(0, int64(n)), Total: int64(n), Memory: Bytes(into)})
					require.NoError(t, err, "%s: %d bytes", name, n)
					require.Equal(t, data[:n], into, "%s: %d bytes", name, n)
					soon(t, func() bool { return s.Stats().Flowing == 0 }, "the flow gave its buffers back before the next takes some")
					for i := 0; i < n; i += size {
						if !files.Load() || !inFile(int64(i)) {
							buffered.Add(1)
						}
					}
				}
				assert.Equal(t, buffered.Load(), fills.Load(), name)
				most := buffers * size
				if memory == 0 {
					most = size
				}
				if buffered.Load() == 0 {
					most = 0
				}
				assert.LessOrEqual(t, s.Stats().FlowMemory, most, name)
				stop()
			}
		}
	})
}

// TestFileThatPanics: a source whose Range panics fails only its own flow.
func TestFileThatPanics(t *testing.T) {
	w := newWorld(t, "tcp")
	var fills atomic.Int64
	_, address, _ := w.serve(func(c *Call) {
		if _, ok := c.Request.(*proto.IOReq); !ok {
			c.Reply(&proto.NoopResp{})
			return
		}
		_, err := c.SendFlow(&proto.IOResp{Size: 10}, 10, &mixed{t: t, data: random(10), fills: &fills})
		assert.ErrorIs(t, err, proto.EIO)
		c.Fail(err)
	}, ServerOptions{})
	c, to := w.caller(address, Options{})
	_, err := c.ReadFlow(context.Background(), &Flow{To: to, Request: ioReq(0, 10), Total: 10, Memory: Bytes(make([]byte, 10))})
	require.ErrorIs(t, err, proto.EIO)
	require.NoError(t, noop(c, to))
}

// TestUnreadableFile: a file that cannot be read ends the client's flow with an error, and the server goes on.
func TestUnreadableFile(t *testing.T) {
	w := newWorld(t, "tcp")
	name := filepath.Join(t.TempDir(), "file")
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o600)
	require.NoError(t, err)
	t.Cleanup(func() { _ = file.Close() }) // after the servers stop; the client's error does not wait for them
	var fills atomic.Int64
	for _, n := range []int64{10, 1 << 20} {
		_, address, _ := w.serve(func(c *Call) {
			if _, ok := c.Request.(*proto.IOReq); !ok {
				c.Reply(&proto.NoopResp{})
				return
			}
			src := &mixed{t: t, file: file, inFile: func(int64) bool { return true }, fills: &fills}
			_, err := c.SendFlow(&proto.IOResp{Size: n}, n, src)
			assert.ErrorIs(t, err, ErrFlow)
			c.Fail(err)
		}, ServerOptions{})
		c, to := w.caller(address, Options{})
		_, err = c.ReadFlow(context.Background(), &Flow{To: to, Request: ioReq(0, n), Total: n, Memory: Bytes(make([]byte, n))})
		require.Error(t, err, fmt.Sprint(n, " bytes"))
		require.NoError(t, noop(c, to))
	}
}
