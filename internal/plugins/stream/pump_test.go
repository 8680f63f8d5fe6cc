//go:build linux

package stream_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/plugins/ring"
	"github.com/viaduct-hpc/viaduct/internal/plugins/stream"
	"github.com/viaduct-hpc/viaduct/internal/plugins/wire"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
	"github.com/viaduct-hpc/viaduct/plugins/proto"
)

const patience = wallclock.Patience

// A program is the rings of a program; a test plays the method.
type program struct {
	t testing.TB
	store
	out  *ring.Writer
	in   *ring.Reader
	rung chan struct{} // has a value when the program must check the ring
	pump *stream.Pump
}

func newProgram(t testing.TB, ringBytes int) *program {
	p := &program{t: t, store: newStore(t, ringBytes, 64<<10), rung: make(chan struct{}, 1)}
	t.Cleanup(func() {
		if p.pump != nil {
			p.pump.Close()
		}
		p.free(t)
	})
	var err error
	p.out, err = ring.NewWriter(p.rings.ToPlugin)
	require.NoError(t, err)
	p.in, err = ring.NewReader(p.rings.ToProgram)
	require.NoError(t, err)
	return p
}

func (p *program) dial(c proto.MethodClient) {
	var err error
	p.pump, err = stream.Dial(context.Background(), c, 1, p.rings, p.arena, p.bell, func() {
		select {
		case p.rung <- struct{}{}:
		default:
		}
	})
	require.NoError(p.t, err)
}

// say writes a record; it returns false if there is no room.
func (p *program) say(h wire.Head, rest string) bool {
	room, ok, err := p.out.Reserve(wire.HeadBytes + len(rest))
	require.NoError(p.t, err)
	if !ok {
		return false
	}
	h.Put(room)
	copy(room[wire.HeadBytes:], rest)
	p.out.Commit()
	if p.out.Asleep() {
		p.bell.Ring()
	}
	return true
}

// hear returns the next record. It sleeps until there is one.
func (p *program) hear() (h wire.Head, rest string) {
	p.t.Helper()
	late := time.After(patience)
	for {
		b, ok, err := p.in.Next()
		require.NoError(p.t, err)
		if ok {
			b, err = h.Parse(b)
			require.NoError(p.t, err)
			return h, string(b)
		}
		if !p.in.Arm() {
			continue
		}
		select {
		case <-p.rung:
			p.in.Disarm()
		case <-late:
			require.Fail(p.t, "nothing comes")
		}
	}
}

// done waits for the end of the pump and returns the reason.
func (p *program) done() error {
	p.t.Helper()
	select {
	case <-p.pump.Done():
	case <-time.After(patience):
		require.Fail(p.t, "the pump does not end")
	}
	return p.pump.Err()
}

// attached reads the record that begins a stream.
func attached(d proto.Method_DataServer) error {
	r, err := d.Recv()
	if err == nil && (r.Kind != proto.Kind_ATTACH || r.Session != 1) {
		err = fmt.Errorf("a stream that begins with %v", r)
	}
	return err
}

// echo ends each send and returns its message as one from the same peer.
func echo(d proto.Method_DataServer) error {
	err := attached(d)
	for err == nil {
		var r *proto.Record
		if r, err = d.Recv(); err != nil {
			break
		}
		if r.Kind != proto.Kind_SEND {
			continue
		}
		err = d.Send(&proto.Record{Kind: proto.Kind_ARRIVED, Peer: r.Peer, Tag: r.Tag, Message: r.Message})
		if err == nil {
			err = d.Send(&proto.Record{Kind: proto.Kind_DONE, Op: r.Op, Size: uint64(len(r.Message))})
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// TestTinyRings: all records arrive in order, however often the rings are full.
func TestTinyRings(t *testing.T) {
	p := newProgram(t, ring.DataMin)
	p.dial(connect(t, echo))
	message := func(i int) string { return string(bytes.Repeat([]byte{byte(i)}, i*37%700)) }
	const n = 2000
	said, full := 0, 0
	for heard := 0; heard < n; heard++ {
		for ; said < n && p.say(wire.Head{Kind: wire.KindSend, Flags: wire.FlagMessage, Op: uint64(said), Tag: uint32(said), Size: uint64(len(message(said)))}, message(said)); said++ {
		}
		if said < n {
			full++
		}
		h, rest := p.hear()
		require.Equal(t, wire.KindArrived, h.Kind)
		require.EqualValues(t, heard, h.Tag)
		require.Equal(t, message(heard), rest)
		h, _ = p.hear()
		require.Equal(t, wire.KindDone, h.Kind)
		require.EqualValues(t, heard, h.Op)
	}
	require.NotZero(t, full, "the ring was full now and then")
}

// TestFinish: earlier records reach the plugin, and its answers arrive.
func TestFinish(t *testing.T) {
	p := newProgram(t, 64<<10)
	p.dial(connect(t, echo))
	const n = 100
	for op := range uint64(n) {
		require.True(t, p.say(wire.Head{Kind: wire.KindSend, Flags: wire.FlagMessage, Op: op, Size: 5}, "hello"))
	}
	require.NoError(t, p.pump.Finish(context.Background()))
	require.ErrorIs(t, p.done(), stream.ErrEnded)
	for op := range uint64(n) {
		_, _ = p.hear()
		h, _ := p.hear()
		require.EqualValues(t, op, h.Op)
	}
	require.NoError(t, p.pump.Finish(context.Background()), "it is done")
}

// TestPluginEnds: the pump reports the reason.
func TestPluginEnds(t *testing.T) {
	for name, c := range map[string]struct {
		data func(proto.Method_DataServer) error
		want string
	}{
		"good order":    {attached, stream.ErrEnded.Error()},
		"with an error": {func(d proto.Method_DataServer) error { return errors.Join(attached(d), errors.New("no more")) }, "no more"},
		"against rules": {func(d proto.Method_DataServer) error { return errors.Join(d.Send(&proto.Record{Kind: 99}), echo(d)) }, "broke the rules"},
		"unknown op": {func(d proto.Method_DataServer) error {
			return errors.Join(d.Send(&proto.Record{Kind: proto.Kind_DONE}), echo(d))
		}, "broke the rules"},
		"long unexpected": {func(d proto.Method_DataServer) error {
			return errors.Join(d.Send(&proto.Record{Kind: proto.Kind_ARRIVED, Message: make([]byte, 64<<10)}), echo(d))
		}, "broke the rules"},
		"longer than anything": {func(d proto.Method_DataServer) error {
			return errors.Join(d.Send(&proto.Record{Kind: proto.Kind_ARRIVED, Message: make([]byte, 1<<20)}), echo(d))
		}, "larger than max"}, // refused before there is memory for it
	} {
		t.Run(name, func(t *testing.T) {
			p := newProgram(t, 64<<10)
			p.dial(connect(t, c.data))
			require.ErrorContains(t, p.done(), c.want)
			p.pump.Close()
			require.ErrorContains(t, p.pump.Err(), c.want, "the first reason stays")
		})
	}
}

// TestPluginEndsFirst: a plugin that refuses the stream is an error of Dial, or of the pump.
func TestPluginEndsFirst(t *testing.T) {
	for want, data := range map[string]func(proto.Method_DataServer) error{
		"no such session":       func(proto.Method_DataServer) error { return errors.New("no such session") },
		stream.ErrEnded.Error(): func(d proto.Method_DataServer) error { return d.Send(&proto.Record{Kind: proto.Kind_ARRIVED}) },
	} {
		c := connect(t, data)
		for range 50 {
			p := newProgram(t, 64<<10)
			var err error
			p.pump, err = stream.Dial(context.Background(), c, 1, p.rings, p.arena, p.bell, func() {})
			if err == nil {
				err = p.done()
			}
			require.ErrorContains(t, err, want)
		}
	}
}

// TestProgramOutOfStep: nonsense in a ring also ends the pump.
func TestProgramOutOfStep(t *testing.T) {
	p := newProgram(t, 64<<10)
	p.dial(connect(t, echo))
	require.True(t, p.say(wire.Head{Kind: wire.KindDone}, ""))
	require.ErrorIs(t, p.done(), wire.ErrInvalid)
}

// TestDial: an ended context and invalid rings are errors.
func TestDial(t *testing.T) {
	c := connect(t, echo)
	p := newProgram(t, 64<<10)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := stream.Dial(ctx, c, 1, p.rings, p.arena, p.bell, func() {})
	require.ErrorContains(t, err, "canceled")

	half := *p.rings
	half.ToPlugin = half.ToPlugin[8:]
	_, err = stream.Dial(context.Background(), c, 1, &half, p.arena, p.bell, func() {})
	require.Error(t, err)

	ctx, cancel = context.WithCancel(context.Background())
	pump, err := stream.Dial(ctx, c, 1, p.rings, p.arena, p.bell, func() {})
	require.NoError(t, err)
	cancel()
	select {
	case <-pump.Done():
		require.Fail(t, "the context is of Dial alone")
	case <-time.After(20 * time.Millisecond):
	}
	pump.Close()
	require.NoError(t, pump.Err())
}

// TestCloseAtAnyMoment: Close ends everything while the plugin floods a ring that is not read,
// reads nothing, or answers.
func TestCloseAtAnyMoment(t *testing.T) {
	seed := sim.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 0))
	for name, data := range map[string]func(proto.Method_DataServer) error{
		"flood": func(d proto.Method_DataServer) (err error) {
			for err == nil {
				err = d.Send(&proto.Record{Kind: proto.Kind_ARRIVED, Peer: 1, Message: make([]byte, 500)})
			}
			return err
		},
		"deaf": func(d proto.Method_DataServer) error { <-d.Context().Done(); return nil },
		"echo": echo,
	} {
		t.Run(name, func(t *testing.T) {
			c := connect(t, data)
			for range 30 {
				p := newProgram(t, ring.DataMin)
				p.dial(c)
				closed := make(chan struct{})
				wait := time.Duration(rng.IntN(3000)) * time.Microsecond
				go func() {
					time.Sleep(wait) // any moment
					p.pump.Close()
					close(closed)
				}()
				for op := uint64(0); p.pump.Err() == nil; op++ {
					select {
					case <-closed:
					default:
						p.say(wire.Head{Kind: wire.KindSend, Flags: wire.FlagMessage, Op: op, Size: 500}, string(make([]byte, 500)))
						continue
					}
					break
				}
				<-closed
				require.NoError(t, p.done())
				p.pump.Close()
			}
		})
	}
}

// TestServeRefuses: if a program breaks the rules, the stream ends, and the program gets the
// reason.
func TestServeRefuses(t *testing.T) {
	near := newStore(t, 64<<10, 128<<10)
	defer near.free(t)
	ready, served := make(chan struct{}, 2), make(chan error, 1)
	c := connect(t, func(d proto.Method_DataServer) error {
		err := attached(d)
		if err == nil {
			ready <- struct{}{}
			err = stream.Serve(d, near.rings, near.arena, near.bell, func() {})
		}
		served <- err
		return err
	})
	s, err := c.Data(context.Background())
	require.NoError(t, err)
	require.NoError(t, s.Send(&proto.Record{Kind: proto.Kind_ATTACH, Session: 1}))
	require.NoError(t, s.Send(&proto.Record{Kind: proto.Kind_DONE}))
	_, err = s.Recv()
	require.ErrorContains(t, err, "broke the rules")
	require.ErrorIs(t, <-served, stream.ErrProtocol)

	// The program vanishes while the ring to the engine is full.
	ctx, cancel := context.WithCancel(context.Background())
	s, err = c.Data(ctx)
	require.NoError(t, err)
	require.NoError(t, s.Send(&proto.Record{Kind: proto.Kind_ATTACH, Session: 1}))
	<-ready
	<-ready                       // Serve has the stream; if it were cancelled before, it would have no ATTACH
	for op := range uint64(100) { // more than fit in the ring, less than gRPC buffers in addition
		require.NoError(t, s.Send(&proto.Record{Kind: proto.Kind_SEND, Op: op, Message: make([]byte, 1000)}))
	}
	cancel()
	select {
	case err := <-served:
		assert.NoError(t, err)
	case <-time.After(patience):
		require.Fail(t, "Serve does not return")
	}
}
