package perf

import (
	"context"
	"encoding/hex"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/bmi/bmitest"
)

var names atomic.Int64

// serve runs a server in this process and returns its address.
func serve(t *testing.T) string {
	t.Helper()
	return serveAt(t, fmt.Sprintf("mem://perf-%d", names.Add(1)))
}

func serveAt(t *testing.T, address string) string {
	t.Helper()
	return serveWith(t, address, bmitest.Options{})
}

func serveWith(t *testing.T, address string, opt bmitest.Options) string {
	t.Helper()
	ep, err := bmi.Open(context.Background(), bmi.Config{Listen: []string{address}, Options: map[string]any{bmitest.Name: opt}})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	s, err := NewServer(ep, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	go func() { ended <- s.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		assert.NoError(t, <-ended)
		assert.NoError(t, ep.Close())
	})
	return address
}

func connect(t *testing.T, address string) (*bmi.Endpoint, *Client) {
	t.Helper()
	return connectWith(t, address, bmitest.Options{})
}

func connectWith(t *testing.T, address string, opt bmitest.Options) (*bmi.Endpoint, *Client) {
	t.Helper()
	ep, err := bmi.Open(context.Background(), bmi.Config{Options: map[string]any{bmitest.Name: opt}})
	require.NoError(t, err)
	c, err := OpenClient(ep, address)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, c.Close())
		assert.NoError(t, ep.Close())
	})
	return ep, c
}

func TestEveryTestMeasures(t *testing.T) {
	_, c := connect(t, serve(t))
	for _, test := range []Test{Latency, Rate, Bandwidth, Bidirectional} {
		for _, size := range []int{0, 8, 4096, 4097, 100_000} {
			for _, registered := range []bool{false, true} {
				r, err := c.Measure(context.Background(), Point{Test: test, Size: size, Window: 8, Registered: registered, Budget: 2 * time.Millisecond})
				require.NoError(t, err, "%s of %d", test, size)
				assert.Equal(t, test, r.Test)
				assert.Equal(t, "mem", r.Method)
				assert.Equal(t, size, r.Size)
				assert.Equal(t, WindowFor(test, size, 8), r.Window)
				if size > 0 || r.Unit != UnitMB {
					assert.Positive(t, r.Median)
					assert.Positive(t, r.P99)
				}
			}
		}
	}
}

func TestAMethodWithoutClassesMeasures(t *testing.T) {
	classless := bmitest.Options{NoClasses: true}
	_, c := connectWith(t, serveWith(t, fmt.Sprintf("mem://perf-%d", names.Add(1)), classless), classless)
	p, err := c.NewPinger(8)
	require.NoError(t, err)
	_, err = p.Ping(context.Background())
	require.NoError(t, err)
	_, err = c.Measure(context.Background(), Point{Test: Latency, Size: 8, Window: 1, Budget: time.Millisecond})
	assert.NoError(t, err)
}

func TestMeasureRejects(t *testing.T) {
	_, c := connect(t, serve(t))
	ctx := context.Background()
	_, err := c.Measure(ctx, Point{Test: LimitBounce, Window: 1, Budget: time.Millisecond})
	assert.ErrorContains(t, err, "no test of a method")
	_, err = c.Measure(ctx, Point{Test: Latency, Size: 1 << 33, Window: 1, Budget: time.Millisecond})
	assert.ErrorIs(t, err, ErrSize)
	_, err = c.Measure(ctx, Point{Test: Rate, Size: 1, Window: WindowMax + 1, Budget: time.Millisecond})
	assert.ErrorContains(t, err, "window")
	_, err = c.Measure(ctx, Point{Test: Rate, Size: 1 << 20, Window: WindowMax, Budget: time.Millisecond})
	assert.ErrorContains(t, err, "over 1 GiB")
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	_, err = c.Measure(cancelled, Point{Test: Latency, Window: 1, Budget: time.Millisecond})
	assert.ErrorIs(t, err, context.Canceled)
}

func TestPing(t *testing.T) {
	_, c := connect(t, serve(t))
	for _, size := range []int{0, 8, c.PingSizeMax()} {
		p, err := c.NewPinger(size)
		require.NoError(t, err)
		took, err := p.Ping(context.Background())
		require.NoError(t, err)
		assert.Positive(t, took)
	}
	_, err := c.NewPinger(c.PingSizeMax() + 1)
	assert.ErrorIs(t, err, ErrSize)
}

func TestNobodyServes(t *testing.T) {
	_, c := connect(t, "mem://nobody")
	p, err := c.NewPinger(8)
	require.NoError(t, err)
	_, err = p.Ping(context.Background())
	assert.ErrorIs(t, err, bmi.ErrUnreachable)
	_, err = c.Measure(context.Background(), Point{Test: Latency, Window: 1, Budget: time.Millisecond})
	assert.ErrorIs(t, err, bmi.ErrUnreachable)
}

func TestServerAnswersGarbageAndGoesOn(t *testing.T) {
	ep, c := connect(t, serve(t))
	talk, err := ep.OpenContext()
	require.NoError(t, err)
	defer func() { require.NoError(t, talk.Close()) }()
	golden, err := hex.DecodeString("5644504602")
	require.NoError(t, err)
	for _, garbage := range [][]byte{nil, []byte("garbage"), golden, make([]byte, 4000)} {
		reply := make([]byte, 4096)
		n, err := talk.Call(context.Background(), c.side.peer, Class, 99, garbage, reply)
		require.NoError(t, err)
		assert.ErrorContains(t, parseReply(reply[:n]), "refused")
	}
	_, err = c.Measure(context.Background(), Point{Test: Latency, Size: 8, Window: 1, Budget: time.Millisecond})
	assert.NoError(t, err)
}

func TestServerOutlivesAClientThatVanishesWithinARun(t *testing.T) {
	address := serve(t)
	ep, c := connect(t, address)
	d := &clientDuel{c: c, ctx: context.Background(), r: request{kind: kindRun, test: Latency, size: 8, window: 1}}
	require.NoError(t, d.begin(1000))
	require.NoError(t, d.step(10))
	require.NoError(t, d.end())
	require.NoError(t, c.Close())
	require.NoError(t, ep.Close())

	_, again := connect(t, address)
	_, err := again.Measure(context.Background(), Point{Test: Rate, Size: 8, Window: 4, Budget: time.Millisecond})
	assert.NoError(t, err)
}

func TestAMessageOfTheWrongSizeEndsTheRun(t *testing.T) {
	_, c := connect(t, serve(t))
	d := &clientDuel{c: c, ctx: context.Background(), r: request{kind: kindRun, test: Latency, size: 8, window: 1}}
	require.NoError(t, d.begin(10))
	d.lane.recvSize = 7
	assert.ErrorIs(t, d.step(1), errFormat)
	require.NoError(t, d.end())
}

func TestWindowFor(t *testing.T) {
	assert.Equal(t, 1, WindowFor(Latency, 8, 64))
	assert.Equal(t, 64, WindowFor(Rate, 1<<20, 64))
	assert.Equal(t, 64, WindowFor(Bandwidth, 0, 64))
	assert.Equal(t, 64, WindowFor(Bandwidth, 64<<10, 64))
	assert.Equal(t, 4, WindowFor(Bandwidth, 1<<20, 64))
	assert.Equal(t, 2, WindowFor(Bidirectional, 64<<20, 64))
	assert.Equal(t, 1, WindowFor(Bidirectional, 64<<20, 1))
}
