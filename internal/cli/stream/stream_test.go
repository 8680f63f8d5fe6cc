package stream

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/bmi/bmitest"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const waitMax = wallclock.Patience

var names atomic.Int64

// ended is how one side of a transfer ended.
type ended struct {
	sum Summary
	err error
}

// transfer has both sides of one transfer.
type transfer struct {
	t       *testing.T
	address string
	recv    chan ended
	recvEP  *bmi.Endpoint
	sendEP  *bmi.Endpoint
}

func open(t *testing.T, opt bmitest.Options, listen ...string) *bmi.Endpoint {
	t.Helper()
	ep, err := bmi.Open(context.Background(), bmi.Config{Listen: listen, Options: map[string]any{bmitest.Name: opt}})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, ep.Close()) })
	return ep
}

func newTransfer(t *testing.T) *transfer { return newTransferWith(t, bmitest.Options{}) }

func newTransferWith(t *testing.T, opt bmitest.Options) *transfer {
	x := &transfer{t: t, address: fmt.Sprintf("mem://stream-%d", names.Add(1)), recv: make(chan ended, 1)}
	x.recvEP = open(t, opt, x.address)
	x.sendEP = open(t, opt)
	return x
}

// receive starts the receiver.
func (x *transfer) receive(ctx context.Context, opt RecvOptions, out io.Writer) {
	l, err := Listen(x.recvEP)
	require.NoError(x.t, err)
	go func() {
		sum, err := l.Receive(ctx, opt, out)
		x.recv <- ended{sum, err}
	}()
}

func (x *transfer) received() ended {
	x.t.Helper()
	select {
	case e := <-x.recv:
		return e
	case <-time.After(waitMax):
		require.FailNow(x.t, "the receiver hangs")
		return ended{}
	}
}

func (x *transfer) send(ctx context.Context, opt SendOptions, in io.Reader) ended {
	opt.Address = x.address
	if opt.Wait == 0 {
		opt.Wait = waitMax
	}
	sum, err := Send(ctx, x.sendEP, opt, in)
	return ended{sum, err}
}

func randomBytes(n int) []byte {
	out := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(out)
	return out
}

func TestStreamsOfAllLengthsArrive(t *testing.T) {
	for _, n := range []int{0, 1, 255, 256, 257, 1024, 4096, 100_000, 3_000_000} {
		for _, window := range []struct{ block, blocks int }{{256, 1}, {1000, 3}, {0, 0}} {
			if n > 1<<20 && window.block == 256 {
				continue
			}
			x := newTransfer(t)
			var out bytes.Buffer
			var told, progress atomic.Int64
			x.receive(context.Background(), RecvOptions{Started: func(_ string, total int64) { told.Store(total) }}, &out)
			data := randomBytes(n)
			sent := x.send(context.Background(), SendOptions{
				Total: int64(n), Block: window.block, Blocks: window.blocks, Progress: progress.Store,
			}, bytes.NewReader(data))
			got := x.received()
			require.NoError(t, sent.err, n)
			require.NoError(t, got.err, n)
			require.True(t, bytes.Equal(data, out.Bytes()), "%d bytes in blocks of %d", n, window.block)
			assert.Equal(t, Summary{Bytes: int64(n), SHA256: sha256.Sum256(data), Peer: x.address}, sent.sum)
			assert.Equal(t, sha256.Sum256(data), got.sum.SHA256)
			assert.EqualValues(t, n, got.sum.Bytes)
			assert.EqualValues(t, n, told.Load())
		}
	}
}

func TestAStreamArrivesOverAMethodWithoutClasses(t *testing.T) {
	x := newTransferWith(t, bmitest.Options{NoClasses: true})
	var out bytes.Buffer
	x.receive(context.Background(), RecvOptions{}, &out)
	data := randomBytes(5000)
	require.NoError(t, x.send(context.Background(), SendOptions{Total: -1, Block: 512}, bytes.NewReader(data)).err)
	require.NoError(t, x.received().err)
	assert.Equal(t, data, out.Bytes())
}

func TestUnevenReadsArrive(t *testing.T) {
	x := newTransfer(t)
	var out bytes.Buffer
	x.receive(context.Background(), RecvOptions{}, &out)
	data := randomBytes(5000)
	sent := x.send(context.Background(), SendOptions{Total: -1, Block: 512}, iotest.OneByteReader(bytes.NewReader(data)))
	require.NoError(t, sent.err)
	require.NoError(t, x.received().err)
	assert.Equal(t, data, out.Bytes())
}

func TestSenderMayComeFirst(t *testing.T) {
	address := fmt.Sprintf("mem://stream-%d", names.Add(1))
	sendEP := open(t, bmitest.Options{})
	sent := make(chan error, 1)
	go func() {
		_, err := Send(context.Background(), sendEP, SendOptions{Address: address, Wait: waitMax, Total: -1}, bytes.NewReader([]byte("hello")))
		sent <- err
	}()
	// Whether a look-up has failed before does not matter for the outcome.
	recvEP := open(t, bmitest.Options{}, address)
	var out bytes.Buffer
	l, err := Listen(recvEP)
	require.NoError(t, err)
	_, err = l.Receive(context.Background(), RecvOptions{}, &out)
	require.NoError(t, err)
	require.NoError(t, <-sent)
	assert.Equal(t, "hello", out.String())
}

// TestListenTakesOffers: bmi recv says where it receives between Listen and Receive.
func TestListenTakesOffers(t *testing.T) {
	x := newTransfer(t)
	l, err := Listen(x.recvEP)
	require.NoError(t, err)
	to, err := x.sendEP.Lookup(x.address)
	require.NoError(t, err)
	c, err := x.sendEP.OpenContext()
	require.NoError(t, err)
	require.NoError(t, c.SendUnexpected(context.Background(), to, Class, 1, []byte("no offer")))
	assert.ErrorIs(t, (<-l.d.visitors).err, ErrFormat)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = l.Receive(ctx, RecvOptions{}, io.Discard)
	require.ErrorIs(t, err, context.Canceled)
}

func TestNobodyReceives(t *testing.T) {
	ep := open(t, bmitest.Options{})
	_, err := Send(context.Background(), ep, SendOptions{Address: "mem://nobody", Wait: 10 * time.Millisecond}, bytes.NewReader(nil))
	require.ErrorIs(t, err, ErrNobody)
	require.ErrorIs(t, err, bmi.ErrUnreachable)
	assert.ErrorContains(t, err, "start `bmi recv mem://nobody`")

	_, err = Send(context.Background(), ep, SendOptions{Address: "mem://nobody", Block: 17 << 20}, bytes.NewReader(nil))
	assert.ErrorContains(t, err, "choose 1 to 64 blocks")
	_, err = Send(context.Background(), ep, SendOptions{Address: "nothing://x"}, bytes.NewReader(nil))
	assert.ErrorIs(t, err, bmi.ErrUnknownMethod)
}

func TestInputThatFailsFailsBothSides(t *testing.T) {
	x := newTransfer(t)
	x.receive(context.Background(), RecvOptions{}, io.Discard)
	in := io.MultiReader(bytes.NewReader(randomBytes(1000)), iotest.ErrReader(errors.New("medium error")))
	sent := x.send(context.Background(), SendOptions{Total: -1, Block: 256}, in)
	require.ErrorContains(t, sent.err, "the input failed")
	assert.ErrorContains(t, sent.err, "medium error")
	got := x.received()
	require.ErrorIs(t, got.err, ErrOtherSide)
	assert.ErrorContains(t, got.err, "medium error")
}

// failingWriter fails after some bytes.
type failingWriter struct{ left int }

func (w *failingWriter) Write(b []byte) (int, error) {
	if w.left -= len(b); w.left < 0 {
		return 0, errors.New("disk full")
	}
	return len(b), nil
}

func TestOutputThatFailsFailsBothSides(t *testing.T) {
	x := newTransfer(t)
	x.receive(context.Background(), RecvOptions{}, &failingWriter{left: 10_000})
	sent := x.send(context.Background(), SendOptions{Total: -1, Block: 256}, bytes.NewReader(randomBytes(100_000)))
	got := x.received()
	require.ErrorContains(t, got.err, "disk full")
	require.ErrorIs(t, sent.err, ErrOtherSide)
	assert.ErrorContains(t, sent.err, "disk full")
}

func TestSenderThatDiesFailsTheReceiver(t *testing.T) {
	x := newTransfer(t)
	x.receive(context.Background(), RecvOptions{}, io.Discard)
	ctx, cancel := context.WithCancel(context.Background())
	in, feed := io.Pipe()
	sent := make(chan error, 1)
	go func() { sent <- x.send(ctx, SendOptions{Total: -1, Block: 256}, in).err }()
	_, err := feed.Write(randomBytes(1000))
	require.NoError(t, err)
	// The endpoint is closed during the transfer, as when a process ends.
	require.NoError(t, x.sendEP.Close())
	require.Error(t, <-sent)
	got := x.received()
	require.ErrorIs(t, got.err, bmi.ErrPeerFailed)
	assert.ErrorContains(t, got.err, "the sender is gone")
	cancel()
	require.NoError(t, feed.Close())
}

func TestReceiverThatDiesFailsTheSender(t *testing.T) {
	x := newTransfer(t)
	stuck, release := io.Pipe()
	x.receive(context.Background(), RecvOptions{}, release)
	sent := make(chan ended, 1)
	go func() { sent <- x.send(context.Background(), SendOptions{Total: -1, Block: 256}, neverEnding{}) }()
	_, err := io.ReadFull(stuck, make([]byte, 1000))
	require.NoError(t, err)
	require.NoError(t, x.recvEP.Close())
	got := <-sent
	require.ErrorIs(t, got.err, bmi.ErrPeerFailed)
	assert.ErrorContains(t, got.err, "the receiver is gone")
	require.NoError(t, stuck.Close())
	require.Error(t, x.received().err)
}

type neverEnding struct{}

func (neverEnding) Read(b []byte) (int, error) { return len(b), nil }

func TestInterruptsAreToldToTheOtherSide(t *testing.T) {
	for _, who := range []string{"sender", "receiver"} {
		x := newTransfer(t)
		sendCtx, stopSend := context.WithCancel(context.Background())
		recvCtx, stopRecv := context.WithCancel(context.Background())
		progressed := make(chan struct{}, 1)
		x.receive(recvCtx, RecvOptions{Progress: func(int64) {
			select {
			case progressed <- struct{}{}:
			default:
			}
		}}, io.Discard)
		sent := make(chan ended, 1)
		go func() { sent <- x.send(sendCtx, SendOptions{Total: -1, Block: 256}, neverEnding{}) }()
		<-progressed
		var interrupted, told error
		if who == "sender" {
			stopSend()
		} else {
			stopRecv()
		}
		interrupted, told = (<-sent).err, x.received().err
		if who == "receiver" {
			interrupted, told = told, interrupted
		}
		assert.ErrorIs(t, interrupted, context.Canceled, who)
		assert.ErrorIs(t, told, ErrOtherSide, who)
		assert.ErrorContains(t, told, "the "+who+" was interrupted")
		stopSend()
		stopRecv()
	}
}

func TestASecondSenderIsRefused(t *testing.T) {
	x := newTransfer(t)
	started := make(chan struct{})
	var out bytes.Buffer
	x.receive(context.Background(), RecvOptions{Started: func(string, int64) { close(started) }}, &out)
	in, feed := io.Pipe()
	sent := make(chan ended, 1)
	go func() { sent <- x.send(context.Background(), SendOptions{Total: -1}, in) }()
	<-started
	_, err := Send(context.Background(), open(t, bmitest.Options{}), SendOptions{Address: x.address, Wait: waitMax}, bytes.NewReader(nil))
	require.ErrorIs(t, err, ErrOtherSide)
	assert.ErrorContains(t, err, "busy with another sender")

	_, err = feed.Write([]byte("first come"))
	require.NoError(t, err)
	require.NoError(t, feed.Close())
	require.NoError(t, (<-sent).err)
	require.NoError(t, x.received().err)
	assert.Equal(t, "first come", out.String())
}
