package rpc

import (
	"bytes"
	"context"
	"crypto/rand"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/bmi/bmitest"
	"github.com/viaduct-hpc/viaduct/internal/trace"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
	_ "github.com/viaduct-hpc/viaduct/methods/tcp"
	_ "github.com/viaduct-hpc/viaduct/methods/via"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// far is a bound that only a hang reaches.
const far = wallclock.Patience

// overEach runs a test over each method.
func overEach(t *testing.T, test func(t *testing.T, w *world)) {
	for _, method := range []string{"mem", "tcp", "via+shm"} {
		t.Run(method, func(t *testing.T) { test(t, newWorld(t, method)) })
	}
}

// A world has the endpoints of a test.
type world struct {
	t      testing.TB
	method string
	net    *bmitest.Network
	trace  *trace.Trace // of all endpoints; may be nil
}

func newWorld(t testing.TB, method string) *world {
	return &world{t: t, method: method, net: bmitest.NewNetwork()}
}

// open opens an endpoint that listens, or not.
func (w *world) open(listen bool) *bmi.Endpoint {
	w.t.Helper()
	cfg := bmi.Config{Trace: w.trace, Options: map[string]any{bmitest.Name: bmitest.Options{Network: w.net}}}
	address := w.method + "://rpc-" + rand.Text()
	if w.method == "tcp" || w.method == "via+udp" {
		address = w.method + "://127.0.0.1:0"
	}
	if listen {
		cfg.Listen = []string{address}
	}
	ep, err := bmi.Open(context.Background(), cfg)
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _ = ep.Close() })
	return ep
}

// serve starts a server; the function returned stops it.
func (w *world) serve(handle Handler, opt ServerOptions) (*Server, string, func()) {
	w.t.Helper()
	ep := w.open(true)
	s := NewServer(ep, handle, opt)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	var once sync.Once
	stop := func() {
		once.Do(func() {
			cancel()
			select {
			case err := <-ended:
				assert.NoError(w.t, err)
			case <-time.After(far):
				assert.Fail(w.t, "the server does not stop")
			}
		})
	}
	w.t.Cleanup(stop)
	return s, ep.Addresses()[0], stop
}

// caller is a client of an address.
func (w *world) caller(address string, opt Options) (*Caller, bmi.Addr) {
	w.t.Helper()
	ep := w.open(false)
	to, err := ep.Lookup(address)
	require.NoError(w.t, err)
	c := NewCaller(ep, opt)
	w.t.Cleanup(func() { assert.NoError(w.t, c.Close()) })
	return c, to
}

// raw is an endpoint without the protocol.
func (w *world) raw(address string) (*bmi.Endpoint, *bmi.Context, bmi.Addr) {
	w.t.Helper()
	ep := w.open(false)
	to, err := ep.Lookup(address)
	require.NoError(w.t, err)
	c, err := ep.OpenContext()
	require.NoError(w.t, err)
	return ep, c, to
}

func noop(c *Caller, to bmi.Addr) error {
	return c.Call(context.Background(), to, nil, &proto.NoopReq{}, &proto.NoopResp{})
}

// ask sends raw bytes and returns the raw answer.
func ask(t testing.TB, c *bmi.Context, to bmi.Addr, tag bmi.Tag, request []byte) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), far)
	defer cancel()
	answer := make([]byte, 64<<10)
	n, err := c.Call(ctx, to, 0, tag, request, answer)
	require.NoError(t, err)
	return answer[:n]
}

// soon waits until a condition holds.
func soon(t testing.TB, is func() bool, what string) {
	t.Helper()
	require.Eventually(t, is, far, time.Millisecond, what)
}

// A disk is a toy server: one file in memory, and empty answers to all other requests.
type disk struct {
	mu    sync.Mutex
	bytes []byte
	fail  error // of writes and reads beyond after
	after int64
}

func (d *disk) handle(c *Call) {
	switch req := c.Request.(type) {
	case *proto.IOReq:
		d.io(c, req)
	case *proto.SmallIOReq:
		d.small(c, req)
	case *proto.GetConfigReq:
		c.Reply(&proto.GetConfigResp{Text: "the config"})
	case *proto.FlushReq:
		c.Fail(proto.ENOENT)
	default:
		c.Reply(proto.NewResponse(req.Op()))
	}
}

func (d *disk) set(b []byte, after int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.bytes, d.after = b, after
}

func (d *disk) size() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return int64(len(d.bytes))
}

func (d *disk) content() []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	return bytes.Clone(d.bytes)
}

func (d *disk) write(b []byte, at int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fail != nil && at >= d.after {
		return d.fail
	}
	if need := at + int64(len(b)); int64(len(d.bytes)) < need {
		d.bytes = append(d.bytes, make([]byte, need-int64(len(d.bytes)))...)
	}
	copy(d.bytes[at:], b)
	return nil
}

func (d *disk) read(b []byte, at int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fail != nil && at >= d.after {
		return d.fail
	}
	copy(b, d.bytes[at:])
	return nil
}

// io treats the file request as a byte stream.
func (d *disk) io(c *Call, req *proto.IOReq) {
	size := d.size()
	if req.Type == proto.IOWrite {
		n, err := c.ReceiveFlow(&proto.IOResp{Size: size}, req.Aggregate, func(b []byte, at int64) error {
			return d.write(b, req.FileOffset+at)
		})
		if err != nil {
			c.Fail(err)
			return
		}
		c.Reply(&proto.WriteCompletionResp{Written: n})
		return
	}
	total := min(max(size-req.FileOffset, 0), req.Aggregate)
	_, err := c.SendFlow(&proto.IOResp{Size: size}, total, SourceFunc(func(b []byte, at int64) error {
		return d.read(b, req.FileOffset+at)
	}))
	if err != nil {
		c.Fail(err)
	}
}

func (d *disk) small(c *Call, req *proto.SmallIOReq) {
	size := d.size()
	if req.Type == proto.IOWrite {
		_ = d.write(req.Data, req.FileOffset)
		c.Reply(&proto.SmallIOResp{Type: req.Type, Size: size, Result: int64(len(req.Data))})
		return
	}
	b := make([]byte, min(max(size-req.FileOffset, 0), req.Aggregate))
	_ = d.read(b, req.FileOffset)
	c.Reply(&proto.SmallIOResp{Type: req.Type, Size: size, Result: int64(len(b)), Data: b})
}

// ioReq is a request for contiguous bytes.
func ioReq(offset, n int64) *proto.IOReq {
	return &proto.IOReq{
		Handle: 7, FS: 9, ServerCt: 1, Dist: proto.Dist{Name: proto.DistBasic}, Request: proto.ByteStream(),
		FileOffset: offset, Aggregate: n,
	}
}

func random(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return b
}
