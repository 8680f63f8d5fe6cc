package rpc

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/logtext"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/refusal"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// scattered yields memory in pieces of a size, and some empty ones.
func scattered(b []byte, size int) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for len(b) > 0 {
			n := min(size, len(b))
			if !yield(b[:n:n]) || !yield(nil) {
				return
			}
			b = b[n:]
		}
	}
}

// TestFlowsOfEverySize writes and reads around the sizes of the buffer and of the window. The memory is in one piece, in several,
// and in more than a message may have.
func TestFlowsOfEverySize(t *testing.T) {
	const size, buffers = 1000, 3
	overEach(t, func(t *testing.T, w *world) {
		var d disk
		s, address, _ := w.serve(d.handle, ServerOptions{FlowBufferSize: size, FlowBuffers: buffers})
		c, to := w.caller(address, Options{FlowBufferSize: size, FlowBuffers: buffers})
		moved := uint64(0)
		for _, n := range []int{0, 1, 2, size - 1, size, size + 1, 2*size - 1, 2 * size, 3 * size, 3*size + 1, 4*size - 1, 7 * size, 10*size + 17} {
			for _, piece := range []int{n + 1, 300, 1} {
				name := fmt.Sprintf("%d bytes in pieces of %d", n, piece)
				d.set(nil, 0)
				data := random(n)
				f := &Flow{To: to, Request: ioReq(3, int64(n)), Total: int64(n), Memory: scattered(data, piece)}
				r, err := c.WriteFlow(context.Background(), f)
				require.NoError(t, err, name)
				require.Equal(t, FlowResult{Size: 0, Moved: int64(n)}, r, name)
				if n > 0 {
					require.Equal(t, data, d.content()[3:], name)
				}
				into := make([]byte, n+5)
				f = &Flow{To: to, Request: ioReq(3, int64(n+5)), Total: int64(n + 5), Offset: 3, Memory: scattered(into, piece)}
				r, err = c.ReadFlow(context.Background(), f)
				require.NoError(t, err, name)
				require.Equal(t, FlowResult{Size: d.size(), Moved: int64(n)}, r, name)
				require.Equal(t, data, into[:n], name)
				require.Equal(t, make([]byte, 5), into[n:], name)
				moved += uint64(n)
			}
		}
		assert.Equal(t, moved, s.Stats().BytesIn)
		assert.Equal(t, moved, s.Stats().BytesOut)
		require.NoError(t, noop(c, to))
		assert.LessOrEqual(t, s.Stats().FlowMemory, 2*size*buffers)
	})
}

func TestManyLargeFlowsAtOnce(t *testing.T) {
	overEach(t, func(t *testing.T, w *world) {
		var disks [4]disk
		s, address, _ := w.serve(func(c *Call) {
			disks[c.Request.(*proto.IOReq).Handle].handle(c)
		}, ServerOptions{FlowMemory: 512 << 10, Flows: 3, FlowBufferSize: 64 << 10})
		c, to := w.caller(address, Options{FlowBufferSize: 64 << 10})
		ended := make(chan error, len(disks))
		for i := range disks {
			data := random(1<<20 + i)
			go func() {
				ended <- func() error {
					into := make([]byte, len(data))
					req := ioReq(0, int64(len(data)))
					req.Handle = proto.Handle(i)
					if _, err := c.WriteFlow(context.Background(), &Flow{To: to, Request: req, Total: int64(len(data)), Memory: scattered(data, 65536)}); err != nil {
						return err
					}
					if _, err := c.ReadFlow(context.Background(), &Flow{To: to, Request: req, Total: int64(len(data)), Memory: Bytes(into)}); err != nil {
						return err
					}
					assert.Equal(t, data, into)
					return nil
				}()
			}()
		}
		for range disks {
			require.NoError(t, <-ended)
		}
		assert.LessOrEqual(t, s.Stats().FlowMemory, 512<<10+3*(64<<10))
	})
}

func TestDisksThatFail(t *testing.T) {
	overEach(t, func(t *testing.T, w *world) {
		d := disk{bytes: random(10_000), fail: proto.ENOSPC}
		s, address, _ := w.serve(d.handle, ServerOptions{FlowBufferSize: 1000, FlowBuffers: 2})
		c, to := w.caller(address, Options{FlowBufferSize: 1000, FlowBuffers: 2})
		b := random(10_000)
		for _, after := range []int64{0, 1000, 5000, 9000} {
			d.set(d.content(), after)
			f := &Flow{To: to, Request: ioReq(0, int64(len(b))), Total: int64(len(b)), Memory: Bytes(b)}
			_, err := c.WriteFlow(context.Background(), f)
			require.Equal(t, proto.ENOSPC, err, "a write that fails after %d", after)
			_, err = c.ReadFlow(context.Background(), f)
			if after == 0 {
				require.Equal(t, proto.ENOSPC, err, "nothing was answered yet")
			} else {
				require.Equal(t, proto.EIO, err, "a read that fails after %d", after)
			}
			require.NoError(t, noop(c, to))
		}
		// A client may have its answer before the server counts the flow.
		soon(t, func() bool { return s.Stats().FlowsFailed == 3 }, "each read but the first is a flow that failed")
	})
}

// TestFlowsCutDifferently: a client may write in shorter messages than the server's size. A client whose messages are longer or
// very short is disconnected, and the server logs that.
func TestFlowsCutDifferently(t *testing.T) {
	overEach(t, func(t *testing.T, w *world) {
		var d disk
		var log logtext.Buffer
		s, address, _ := w.serve(d.handle, ServerOptions{FlowBufferSize: 20_000, FlowBuffers: 4, Log: slog.New(slog.NewTextHandler(&log, nil))})
		for _, size := range []int{flowMessageBytesMin, 10_000, 19_999, 20_000, 20_001, 40_000, flowMessageBytesMin - 1, 1000} {
			fits := flowMessageBytesMin <= size && size <= 20_000
			c, to := w.caller(address, Options{FlowBufferSize: size, FlowBuffers: 3})
			for _, total := range []int64{7, 100_000} {
				b := random(int(total))
				f := &Flow{To: to, Request: ioReq(0, total), Total: total, Memory: Bytes(b)}
				result, err := c.WriteFlow(t.Context(), f)
				if fits || total == 7 {
					require.NoError(t, err, "%d bytes", size)
					require.Equal(t, total, result.Moved)
					require.Equal(t, b, d.content()[:total])
				} else {
					require.Error(t, err, "%d bytes", size)
					require.False(t, isStatus(err), "%v", err)
				}
			}
		}
		soon(t, func() bool { return s.Stats().FlowsFailed == 4 }, "each that does not fit is a flow that failed")
		assert.EqualValues(t, 4, s.opt.Refusals.Count(refusal.BadFlow))
		assert.Contains(t, log.String(), "both sides need the same FlowBufferSizeBytes")
	})
}

// TestLongestFlows: a client may ask for a flow of any length.
func TestLongestFlows(t *testing.T) {
	for total, want := range map[int64]int64{0: 0, 1: 1, 999: 1, 1000: 1, 1001: 2, math.MaxInt64 - 807: 1 << 63 / 1000, math.MaxInt64: 1<<63/1000 + 1} {
		require.Equal(t, want, messagesOf(total, 1000), "%d bytes", total)
	}
	overEach(t, func(t *testing.T, w *world) {
		s, address, _ := w.serve(func(c *Call) {
			n, err := c.ReceiveFlow(&proto.IOResp{}, math.MaxInt64, func([]byte, int64) error { return nil })
			assert.Zero(t, n)
			c.Fail(err)
		}, ServerOptions{FlowBufferSize: 1000, FlowTimeout: time.Millisecond})
		stalled(t, w, address)
		soon(t, func() bool { return s.Stats().FlowsFailed == 1 || s.Stats().Panics > 0 }, "the flow to end")
		require.Zero(t, s.Stats().Panics)
	})
}

func TestFlowHandlersThatPanic(t *testing.T) {
	overEach(t, func(t *testing.T, w *world) {
		s, address, _ := w.serve(func(c *Call) {
			n, err := c.ReceiveFlow(&proto.IOResp{}, 5000, func([]byte, int64) error { panic("a mistake") })
			assert.Zero(t, n)
			c.Fail(err)
		}, ServerOptions{FlowBufferSize: 1000})
		c, to := w.caller(address, Options{FlowBufferSize: 1000})
		_, err := c.WriteFlow(context.Background(), &Flow{To: to, Request: ioReq(0, 5000), Total: 5000, Memory: Bytes(random(5000))})
		require.Equal(t, proto.EIO, err)
		assert.Equal(t, uint64(1), s.Stats().Panics)
	})
}

// stalled starts a write and sends no data.
func stalled(t *testing.T, w *world, address string) *bmi.Endpoint {
	ep, c, to := w.raw(address)
	req := ioReq(0, 100_000)
	req.Type, req.Flow = proto.IOWrite, proto.FlowMultiqueue
	ask(t, c, to, 5, proto.AppendRequest(nil, nil, req))
	return ep
}

func TestClientsThatStallHoldNobodyUp(t *testing.T) {
	overEach(t, func(t *testing.T, w *world) {
		var d disk
		s, address, _ := w.serve(d.handle, ServerOptions{Flows: 8, Workers: 1})
		for range 3 {
			stalled(t, w, address)
		}
		c, to := w.caller(address, Options{})
		data := random(1000)
		require.NoError(t, noop(c, to))
		_, err := c.WriteFlow(context.Background(), &Flow{To: to, Request: ioReq(0, 1000), Total: 1000, Memory: Bytes(data)})
		require.NoError(t, err)
		assert.Equal(t, data, d.content())
		soon(t, func() bool { return s.Stats().Flowing == 3 }, "those that stall are under way")
		assert.Zero(t, s.Stats().FlowsFailed)
	})
}

func TestFlowsThatStallEnd(t *testing.T) {
	overEach(t, func(t *testing.T, w *world) {
		var d disk
		s, address, _ := w.serve(d.handle, ServerOptions{FlowTimeout: 20 * time.Millisecond})
		for range 3 {
			stalled(t, w, address)
		}
		soon(t, func() bool { return s.Stats().FlowsFailed == 3 && s.Stats().Flowing == 0 }, "stalled flows end")
	})
}

// TestFlowsThatStallMakeRoom: a silent flow, as after a client gave up a write, keeps its place until another flow needs it,
// although its own time-out is much longer.
func TestFlowsThatStallMakeRoom(t *testing.T) {
	overEach(t, func(t *testing.T, w *world) {
		var d disk
		s, address, _ := w.serve(d.handle, ServerOptions{Flows: 2, FlowTimeout: time.Hour, FlowPatience: 20 * time.Millisecond})
		stalled(t, w, address)
		time.Sleep(100 * time.Millisecond)
		require.Zero(t, s.Stats().FlowsFailed, "nobody waits")
		for range 4 { // each host has a place, up to twice as many
			stalled(t, w, address)
		}
		c, to := w.caller(address, Options{})
		data := random(1000)
		_, err := c.WriteFlow(context.Background(), &Flow{To: to, Request: ioReq(0, 1000), Total: 1000, Memory: Bytes(data)})
		require.NoError(t, err)
		require.Equal(t, data, d.content())
		require.NotZero(t, s.Stats().FlowsFailed)
	})
}

func TestClientsThatVanishEndTheirFlows(t *testing.T) {
	overEach(t, func(t *testing.T, w *world) {
		var d disk
		s, address, _ := w.serve(d.handle, ServerOptions{})
		ep := stalled(t, w, address)
		require.Equal(t, 1, s.Stats().Flowing)
		require.NoError(t, ep.Close())
		soon(t, func() bool { return s.Stats().FlowsFailed == 1 }, "the flow ends at once")
	})
}

func TestStopEndsFlowsThatStall(t *testing.T) {
	overEach(t, func(t *testing.T, w *world) {
		var d disk
		var log logtext.Buffer
		s, address, stop := w.serve(d.handle, ServerOptions{DrainTime: 10 * time.Millisecond, Log: slog.New(slog.NewTextHandler(&log, nil))})
		stalled(t, w, address)
		soon(t, func() bool { return s.Stats().Flowing == 1 }, "the flow begins")
		stop()
		assert.Equal(t, uint64(1), s.Stats().FlowsFailed)
		assert.Equal(t, uint64(1), s.Stats().CutOff)
		assert.Contains(t, log.String(), "the server stops when the requests in progress have ended")
		assert.Regexp(t, `cut off because the server stops" client=\S+ operation=3 "bytes moved"=0 of=\d+`, log.String())
	})
}

// slowly is a log that is slow to write lines about requests that were cut off.
type slowly struct{ logtext.Buffer }

func (w *slowly) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("cut off")) {
		time.Sleep(50 * time.Millisecond)
	}
	return w.Buffer.Write(b)
}

// TestStopWaitsForItsLog: a program may end as soon as Serve returns, so by then the log says what was cut off.
func TestStopWaitsForItsLog(t *testing.T) {
	overEach(t, func(t *testing.T, w *world) {
		var d disk
		var log slowly
		s, address, stop := w.serve(d.handle, ServerOptions{DrainTime: 10 * time.Millisecond, Log: slog.New(slog.NewTextHandler(&log, nil))})
		stalled(t, w, address)
		soon(t, func() bool { return s.Stats().Flowing == 1 }, "the flow begins")
		stop()
		assert.Contains(t, log.String(), "cut off because the server stops")
	})
}

// TestStopLetsFlowsEnd: a flow under way when the server stops completes.
func TestStopLetsFlowsEnd(t *testing.T) {
	overEach(t, func(t *testing.T, w *world) {
		var d disk
		var log logtext.Buffer
		s, address, stop := w.serve(d.handle, ServerOptions{
			FlowBufferSize: 10_000, FlowBuffers: 2, DrainTime: far, Log: slog.New(slog.NewTextHandler(&log, nil)),
		})
		data := random(200_000)
		stopped := make(chan struct{})
		memory := func(yield func([]byte) bool) {
			if !yield(data[:100_000]) {
				return
			}
			go func() {
				defer close(stopped)
				stop()
			}()
			soon(t, func() bool { return strings.Contains(log.String(), "transfers=1") }, "the server is stopping")
			yield(data[100_000:])
		}
		c, to := w.caller(address, Options{FlowBufferSize: 10_000, FlowBuffers: 2})
		total := int64(len(data))
		result, err := c.WriteFlow(t.Context(), &Flow{To: to, Request: ioReq(0, total), Total: total, Memory: memory})
		require.NoError(t, err)
		<-stopped
		assert.Equal(t, total, result.Moved)
		assert.Equal(t, data, d.content())
		assert.Zero(t, s.Stats().CutOff)
	})
}

// TestReadsThatAreGivenUp: the remaining messages of a given-up read do not block later calls.
func TestReadsThatAreGivenUp(t *testing.T) {
	overEach(t, func(t *testing.T, w *world) {
		d := disk{bytes: random(1 << 20)}
		blocked, open, over := make(chan struct{}, 1), make(chan struct{}), make(chan struct{}, 1)
		hold := func(c *Call, when int64) {
			total := int64(len(d.bytes))
			_, err := c.SendFlow(&proto.IOResp{Size: total}, total, SourceFunc(func(b []byte, at int64) error {
				if at == when {
					blocked <- struct{}{}
					<-open
				}
				return d.read(b, at)
			}))
			if w.method != "via+shm" { // over via+shm, a receive in progress is cancelled with its connection
				assert.NoError(t, err)
			}
			over <- struct{}{}
		}
		_, address, _ := w.serve(func(c *Call) {
			if req, ok := c.Request.(*proto.IOReq); ok {
				hold(c, req.FileOffset)
				return
			}
			d.handle(c)
		}, ServerOptions{FlowBufferSize: 64 << 10, FlowBuffers: 2})
		c, to := w.caller(address, Options{FlowBufferSize: 64 << 10, FlowBuffers: 3})
		for _, when := range []int64{0, 8 * 64 << 10} { // before the response, and after half of the data
			ctx, cancel := context.WithCancel(context.Background())
			ended := make(chan error, 1)
			go func() {
				_, err := c.ReadFlow(ctx, &Flow{To: to, Request: ioReq(when, 1<<20), Total: 1 << 20, Memory: Bytes(make([]byte, 1<<20))})
				ended <- err
			}()
			<-blocked
			cancel()
			err := <-ended
			require.ErrorIs(t, err, context.Canceled)
			require.ErrorIs(t, err, ErrNoAnswer)
			open <- struct{}{}
			select {
			case <-over:
			case <-time.After(far):
				require.FailNow(t, "the server hangs")
			}
			for range 10 {
				require.NoError(t, noop(c, to))
			}
		}
	})
}

// TestServersThatBreakTheirFlows: servers send wrong messages.
func TestServersThatBreakTheirFlows(t *testing.T) {
	overEach(t, func(t *testing.T, w *world) {
		raw := w.open(true)
		answers, err := raw.OpenContext()
		require.NoError(t, err)
		patient, to := w.caller(raw.Addresses()[0], Options{FlowBufferSize: 1000})
		hasty := NewCaller(patient.ep, Options{FlowBufferSize: 1000, FlowTimeout: 20 * time.Millisecond})
		defer func() { require.NoError(t, hasty.Close()) }()
		response := proto.AppendResponse(nil, &proto.IOResp{Size: 5000})
		completion := proto.AppendResponse(nil, &proto.WriteCompletionResp{Written: 4999})
		for _, test := range []struct {
			name     string
			write    bool
			messages [][]byte
			want     error
		}{
			{"status", false, [][]byte{proto.AppendStatus(nil, proto.OpIO, proto.EACCES)}, proto.EACCES},
			{"status of a write", true, [][]byte{proto.AppendStatus(nil, proto.OpIO, proto.EACCES)}, proto.EACCES},
			{"protocol error", false, [][]byte{proto.AppendStatus(nil, proto.OpProtoError, proto.EPROTO)}, proto.EPROTO},
			{"garbage", false, [][]byte{random(24)}, ErrBadAnswer},
			{"too long", false, [][]byte{random(100)}, ErrBadAnswer},
			{"short message", false, [][]byte{response, random(1000), random(999)}, ErrBadAnswer},
			{"long message", false, [][]byte{response, random(1001)}, ErrBadAnswer},
			{"empty message", false, [][]byte{response, random(1000), {}}, proto.EIO},
			{"silence", false, [][]byte{response, random(1000)}, ErrTimeout},
			{"silence of a write", true, [][]byte{response}, ErrTimeout},
			{"wrong completion", true, [][]byte{response, completion}, ErrBadAnswer},
			{"completion of garbage", true, [][]byte{response, random(24)}, ErrBadAnswer},
		} {
			c := patient
			if test.want == ErrTimeout {
				c = hasty
			}
			ended := make(chan error, 1)
			go func() {
				f := &Flow{To: to, Request: ioReq(0, 5000), Total: 5000, Memory: Bytes(random(5000))}
				var err error
				if test.write {
					_, err = c.WriteFlow(context.Background(), f)
				} else {
					_, err = c.ReadFlow(context.Background(), f)
				}
				ended <- err
			}()
			var in [1]bmi.Unexpected
			n, err := raw.TestUnexpected(in[:], far)
			require.NoError(t, err)
			require.Equal(t, 1, n)
			for _, m := range test.messages {
				_ = answers.Send(context.Background(), in[0].From, in[0].Tag, m)
			}
			require.ErrorIs(t, <-ended, test.want, test.name)
		}
	})
}

func TestFlowWhoseMemoryIsShort(t *testing.T) {
	overEach(t, func(t *testing.T, w *world) {
		d := disk{bytes: random(9000)}
		_, address, _ := w.serve(d.handle, ServerOptions{FlowBufferSize: 1000})
		c, to := w.caller(address, Options{FlowBufferSize: 1000, FlowBuffers: 2})
		f := &Flow{To: to, Request: ioReq(0, 9000), Total: 9000, Memory: Bytes(random(4500))}
		_, err := c.WriteFlow(context.Background(), f)
		require.ErrorIs(t, err, errMemory)
		_, err = c.ReadFlow(context.Background(), f)
		require.ErrorIs(t, err, errMemory)
	})
}
