//go:build linux

package stream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"

	"github.com/viaduct-hpc/viaduct/plugins/bell"
	"github.com/viaduct-hpc/viaduct/plugins/proto"
	"github.com/viaduct-hpc/viaduct/plugins/ring"
	"github.com/viaduct-hpc/viaduct/plugins/segment"
)

// A Pump joins the rings of a program to the stream of a plugin.
type Pump struct {
	stream proto.Method_DataClient
	in     inlet
	out    outlet
	t      *program
	over   *ending
	done   chan struct{}

	finishing atomic.Bool   // the program says no more than is in the ring
	told      chan struct{} // closed once the plugin is told nothing more
}

// Dial opens the stream of a session and moves records between it and rings, which are of
// the program alone: the plugin is told what comes through rings.ToPlugin, and what it says
// goes into rings.ToProgram. Messages are taken from arena and put there. in is rung when
// there is something to read and the Pump sleeps; ringProgram is called when there is and
// the program sleeps, from another goroutine. ctx bounds Dial alone. Rings, arena and bell
// stay the caller's, and are the Pump's until it is done.
func Dial(ctx context.Context, c proto.MethodClient, session uint64, rings *segment.Rings, arena []byte, in *bell.Bell, ringProgram func()) (*Pump, error) {
	r, err := ring.NewReader(rings.ToPlugin)
	if err != nil {
		return nil, err
	}
	w, err := ring.NewWriter(rings.ToProgram)
	if err != nil {
		return nil, err
	}
	s, cancel, err := open(ctx, c, session, max(len(arena), w.RecordMax()))
	if err != nil {
		return nil, fmt.Errorf("plugins/stream: open the stream of session %d: %w", session, err)
	}
	over := newEnding(in, cancel)
	p := &Pump{
		stream: s, over: over, done: make(chan struct{}), told: make(chan struct{}), t: newProgram(arena, w.RecordMax()),
		in: inlet{r, in}, out: outlet{w, ringProgram, over},
	}
	var both sync.WaitGroup
	both.Go(func() {
		defer close(p.told)
		p.run(p.tell)
	})
	both.Go(func() { p.run(p.hear) })
	go func() {
		both.Wait()
		over.mute()
		close(p.done)
	}()
	return p, nil
}

// open opens the stream, whose life cancel ends. A plugin says no message of more than most
// bytes: there is no memory for it.
func open(ctx context.Context, c proto.MethodClient, session uint64, most int) (s proto.Method_DataClient, cancel context.CancelFunc, err error) {
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, cancel)
	s, err = c.Data(life, grpc.MaxCallRecvMsgSize(min(most+recordBytes, RecordBytesMax)), grpc.MaxCallSendMsgSize(RecordBytesMax))
	if err == nil {
		err = s.Send(&proto.Record{Kind: proto.Kind_ATTACH, Session: session})
	}
	if errors.Is(err, io.EOF) {
		err = reason(s)
	}
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		cancel()
		return nil, nil, err
	}
	return s, cancel, nil
}

// reason is why a stream ended that takes nothing any more: it comes behind what the plugin
// said before.
func reason(s proto.Method_DataClient) error {
	for {
		if _, err := s.Recv(); errors.Is(err, io.EOF) {
			return ErrEnded
		} else if err != nil {
			return err
		}
	}
}

// run does one direction until it ends, which ends the other.
func (p *Pump) run(direction func() error) {
	if err := direction(); err != nil {
		p.over.end(err)
	}
}

// tell tells the plugin what the program says. It returns nil if the reason why it ends is
// with the other direction.
func (p *Pump) tell() error {
	for {
		record, ok, err := p.in.r.Next()
		if err != nil {
			return err
		}
		if !ok {
			if err := p.over.reason(); err != nil {
				return err
			}
			if p.finishing.Load() && p.in.r.Arm() {
				p.in.r.Disarm()
				return p.stream.CloseSend()
			}
			if err := p.in.sleep(); err != nil {
				return err
			}
			continue
		}
		r, err := p.t.ask(record)
		if err != nil {
			return err
		}
		if r == nil {
			continue
		}
		if err := p.stream.Send(r); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("plugins/stream: send to the plugin: %w", err)
		}
	}
}

// hear tells the program what the plugin says.
func (p *Pump) hear() error {
	for {
		r, err := p.stream.Recv()
		if errors.Is(err, io.EOF) {
			return ErrEnded
		}
		if err != nil {
			return fmt.Errorf("plugins/stream: receive from the plugin: %w", err)
		}
		h, rest, err := p.t.hear(r)
		if err == nil {
			err = p.out.put(&h, rest)
		}
		if err != nil {
			return err
		}
	}
}

// Finish tells the plugin what is in the ring to it, and then that nothing more comes: it
// is for before the session is closed, for a plugin hears nothing afterwards. It returns
// when that is said, when the Pump is done, or with the error of ctx.
func (p *Pump) Finish(ctx context.Context) error {
	p.finishing.Store(true)
	p.over.ring()
	select {
	case <-p.told:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Done is closed once the Pump has ended, for whatever reason: it touches rings, arena and
// bell no more. What the plugin said before it ended the stream is in the ring.
func (p *Pump) Done() <-chan struct{} { return p.done }

// Err is why the Pump ended: ErrEnded, ErrProtocol or what became of the stream, wrapped.
// It is nil before Done, and if Close came first.
func (p *Pump) Err() error {
	select {
	case <-p.done:
	default:
		return nil
	}
	if err := p.over.reason(); !errors.Is(err, errClosed) {
		return err
	}
	return nil
}

// Close ends the Pump and returns when it has. What is on its way is lost.
func (p *Pump) Close() {
	p.over.end(errClosed)
	<-p.done
}
