package bmi_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// null is a method without a network: sends complete at once, receives in the
// next poll. It shows what this package costs by itself.
type null struct {
	host  bmi.Host
	addr  bmi.Addr
	recvs []*bmi.Op
}

type nullPeer struct{}

func (nullPeer) String() string { return "null://peer" }

type nullDriver struct{}

func init() { bmi.Register(nullDriver{}) }

func (nullDriver) Name() string { return "null" }
func (nullDriver) Open(_ context.Context, cfg bmi.MethodConfig) (bmi.Method, error) {
	return &null{host: cfg.Host}, nil
}

func (n *null) Info() bmi.Info {
	return bmi.Info{MaxExpectedSize: 1 << 20, MaxUnexpectedSize: 1 << 16, MaxPieces: 16, Classes: true}
}
func (n *null) Resolve(string) (bmi.Addr, error) {
	if n.addr.IsZero() {
		n.addr = n.host.NewAddr(nullPeer{})
	}
	return n.addr, nil
}
func (n *null) PostSend(op *bmi.Op) { op.Complete(op.Size, nil) }
func (n *null) PostRecv(op *bmi.Op) { n.recvs = append(n.recvs, op) }
func (n *null) Cancel(op *bmi.Op)   {}
func (n *null) Poll() bool {
	if len(n.recvs) == 0 {
		return false
	}
	for _, op := range n.recvs {
		op.Complete(op.Size, nil)
	}
	n.recvs = n.recvs[:0]
	return true
}
func (n *null) Close(context.Context) error { n.Poll(); return nil }

func nullSide(tb testing.TB, cfg bmi.Config) (*bmi.Context, bmi.Addr) {
	e, err := bmi.Open(context.Background(), cfg)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, e.Close()) })
	a, err := e.Lookup("null://peer")
	require.NoError(tb, err)
	c, err := e.OpenContext()
	require.NoError(tb, err)
	return c, a
}

// BenchmarkPostTest is the cost of this package per message: a send that
// completes within the post, and a receive that a Test call returns.
func BenchmarkPostTest(b *testing.B) {
	buf := make([]byte, 8)
	b.Run("send", func(b *testing.B) {
		c, a := nullSide(b, bmi.Config{})
		b.ReportAllocs()
		for b.Loop() {
			if p, err := c.PostSend(a, 1, buf, nil); err != nil || !p.Done {
				b.Fatal(p, err)
			}
		}
	})
	b.Run("recv", func(b *testing.B) {
		c, a := nullSide(b, bmi.Config{})
		var out [1]bmi.Completion
		b.ReportAllocs()
		for b.Loop() {
			if _, err := c.PostRecv(a, 1, buf, nil); err != nil {
				b.Fatal(err)
			}
			if n, err := c.TestContext(out[:], bmi.Forever); err != nil || n != 1 {
				b.Fatal(n, err)
			}
		}
	})
	b.Run("test", func(b *testing.B) {
		c, a := nullSide(b, bmi.Config{})
		b.ReportAllocs()
		for b.Loop() {
			p, err := c.PostRecv(a, 1, buf, nil)
			if err != nil {
				b.Fatal(err)
			}
			if _, ok, err := c.Test(p.Op, bmi.Forever); err != nil || !ok {
				b.Fatal(ok, err)
			}
		}
	})
	for _, window := range []int{16, 64} {
		b.Run(fmt.Sprintf("recv-window-%d", window), func(b *testing.B) {
			c, a := nullSide(b, bmi.Config{})
			out := make([]bmi.Completion, window)
			b.ReportAllocs()
			for n := 0; n < b.N; n += window {
				for range window {
					_, _ = c.PostRecv(a, 1, buf, nil)
				}
				for got := 0; got < window; {
					n, err := c.TestContext(out, bmi.Forever)
					if err != nil {
						b.Fatal(err)
					}
					got += n
				}
			}
		})
	}
	b.Run("poll-empty", func(b *testing.B) {
		c, _ := nullSide(b, bmi.Config{})
		var out [1]bmi.Completion
		for b.Loop() {
			_, _ = c.TestContext(out[:], 0)
		}
	})
}

// BenchmarkParallel measures the cost of the engine lock: many goroutines, each with its own
// context, use one method.
func BenchmarkParallel(b *testing.B) {
	e, err := bmi.Open(context.Background(), bmi.Config{})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, e.Close()) })
	a, err := e.Lookup("null://peer")
	require.NoError(b, err)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		c, err := e.OpenContext()
		if err != nil {
			b.Error(err)
			return
		}
		var out [1]bmi.Completion
		for pb.Next() {
			if _, err := c.PostRecv(a, 1, nil, nil); err != nil {
				b.Error(err)
				return
			}
			if _, err := c.TestContext(out[:], bmi.Forever); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

// BenchmarkPingPong is the half round trip between two endpoints in memory, by
// Test calls and by blocking calls.
func BenchmarkPingPong(b *testing.B) {
	ctx := context.Background()
	for _, tc := range []struct {
		name string
		recv func(s *side, buf []byte) error
	}{
		{"test", func(s *side, buf []byte) error {
			p, err := s.ctx.PostRecv(s.peer, 1, buf, nil)
			if err == nil && !p.Done {
				_, _, err = s.ctx.Test(p.Op, bmi.Forever)
			}
			return err
		}},
		{"blocking", func(s *side, buf []byte) error {
			_, err := s.ctx.Recv(ctx, s.peer, 1, buf)
			return err
		}},
	} {
		b.Run(tc.name, func(b *testing.B) {
			x, y := newWorld(b).pair()
			play := func(s *side, first bool) {
				buf := make([]byte, 8)
				for range b.N / 2 {
					if first {
						_, _ = s.ctx.PostSend(s.peer, 1, buf, nil)
					}
					if err := tc.recv(s, buf); err != nil {
						b.Error(err)
						return
					}
					if !first {
						_, _ = s.ctx.PostSend(s.peer, 1, buf, nil)
					}
				}
			}
			b.ReportAllocs()
			b.ResetTimer()
			done := make(chan struct{})
			go func() { play(y, false); close(done) }()
			play(x, true)
			<-done
		})
	}
}
