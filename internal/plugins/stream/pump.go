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

	"github.com/viaduct-hpc/viaduct/internal/plugins/bell"
	"github.com/viaduct-hpc/viaduct/internal/plugins/ring"
	"github.com/viaduct-hpc/viaduct/internal/plugins/segment"
	"github.com/viaduct-hpc/viaduct/plugins/proto"
)

// A Pump connects the rings of a program to the stream of a plugin.
type Pump struct {
	stream proto.Method_DataClient
	in     inlet
	out    outlet
	t      *program
	over   *ending
	done   chan struct{}

	finishing atomic.Bool   // the program has written its last record
	told      chan struct{} // closed when nothing more is sent to the plugin
}

// Dial opens the stream of a session and moves records between it and rings, which only the program
// uses: records from rings.ToPlugin are sent to the plugin, and the plugin's records are put in
// rings.ToProgram. Messages are read from and written to arena. in is rung when there is something
// to read and the Pump sleeps. ringProgram is called, from another goroutine, when there is
// something to read and the program sleeps. ctx limits only Dial. Rings, arena and bell belong to
// the caller, but the Pump uses them until it is done.
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
		return nil, fmt.Errorf("internal/plugins/stream: open the stream of session %d: %w", session, err)
	}
	over := newEnding(in, cancel)
	p := &Pump{
		stream: s, over: over, done: make(chan struct{}), told: make(chan struct{}), t: newProgram(arena, w.RecordMax()),
		in: inlet{r, in}, out: outlet{w, ringProgram, over},
	}
	var both sync.WaitGroup
	both.Go(func() {
		defer close(p.told)
		p.run(p.send)
	})
	both.Go(func() { p.run(p.receive) })
	go func() {
		both.Wait()
		over.mute()
		close(p.done)
	}()
	return p, nil
}

// open opens a stream that lives until cancel is called. The plugin may not send a message longer
// than most bytes: there is no memory for it.
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

// reason returns why a stream that accepts nothing any more has ended. The reason arrives after the
// plugin's last records.
func reason(s proto.Method_DataClient) error {
	for {
		if _, err := s.Recv(); errors.Is(err, io.EOF) {
			return ErrEnded
		} else if err != nil {
			return err
		}
	}
}

// run runs one direction until it ends, which ends the other.
func (p *Pump) run(direction func() error) {
	if err := direction(); err != nil {
		p.over.end(err)
	}
}

// send sends the program's records to the plugin. It returns nil if the other direction has the
// reason for the end.
func (p *Pump) send() error {
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
		r, err := p.t.toPlugin(record)
		if err != nil {
			return err
		}
		if r == nil {
			continue
		}
		if err := p.stream.Send(r); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("internal/plugins/stream: send to the plugin: %w", err)
		}
	}
}

// receive passes the plugin's records to the program.
func (p *Pump) receive() error {
	for {
		r, err := p.stream.Recv()
		if errors.Is(err, io.EOF) {
			return ErrEnded
		}
		if err != nil {
			return fmt.Errorf("internal/plugins/stream: receive from the plugin: %w", err)
		}
		h, rest, err := p.t.fromPlugin(r)
		if err == nil {
			err = p.out.put(&h, rest)
		}
		if err != nil {
			return err
		}
	}
}

// Finish sends the plugin all records in the ring, and then the end of this direction. Call it
// before closing the session, because a plugin reads nothing afterwards. It returns when that is
// done, when the Pump is done, or with ctx's error.
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

// Done is closed when the Pump has ended, for any reason. It then does not use the rings, arena and
// bell any more, and all records that the plugin sent are in the ring.
func (p *Pump) Done() <-chan struct{} { return p.done }

// Err returns why the Pump ended: ErrEnded, ErrProtocol or the error of the stream, wrapped. It is
// nil before Done, and after Close if that came first.
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

// Close ends the Pump and returns when it has ended. Records in transit are lost.
func (p *Pump) Close() {
	p.over.end(errClosed)
	<-p.done
}
