//go:build linux

package stream

import (
	"errors"
	"io"
	"sync"

	"github.com/viaduct-hpc/viaduct/internal/plugins/bell"
	"github.com/viaduct-hpc/viaduct/internal/plugins/ring"
	"github.com/viaduct-hpc/viaduct/internal/plugins/segment"
	"github.com/viaduct-hpc/viaduct/internal/plugins/wire"
	"github.com/viaduct-hpc/viaduct/plugins/proto"
)

// Serve serves a stream whose ATTACH record was already read. The engine reads rings.ToPlugin,
// writes rings.ToProgram and has all of arena for messages; half of the arena, a power of two, is
// the largest message. The engine rings bell. ringEngine is called, from any goroutine, when there
// is something to read and the engine sleeps.
//
// A program that ends its direction sends no more, but still receives. When the context of s is
// done, Serve sends all records that the engine had written and returns nil; in this way a closed
// session ends its stream in good order (Limit). Otherwise it returns ErrProtocol, or the error of
// the stream. Rings, arena and bell then belong to the caller again.
func Serve(s proto.Method_DataServer, rings *segment.Rings, arena []byte, bell *bell.Bell, ringEngine func()) error {
	w, err := ring.NewWriter(rings.ToPlugin)
	if err != nil {
		return err
	}
	r, err := ring.NewReader(rings.ToProgram)
	if err != nil {
		return err
	}
	over := newEnding(bell, nil)
	p, err := newPlugin(arena, outlet{w, ringEngine, over}, ring.RecordMax(len(rings.ToProgram)-ring.HeaderBytes)-wire.HeadBytes)
	if err != nil {
		return err
	}
	// The goroutine that reads the stream ends with the stream, after Serve has returned.
	go func() {
		if err := p.receive(s); !errors.Is(err, io.EOF) {
			over.end(whyOver(s, err))
		}
	}()
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-s.Context().Done():
			over.end(errFinished)
		case <-over.ch:
		}
	})
	over.end(whyOver(s, p.send(s, &inlet{r, bell})))
	watch.Wait()
	p.close()
	if err := over.reason(); !errors.Is(err, errFinished) {
		return err
	}
	return nil
}

// whyOver returns why s is over when a call returned err: Recv and Send may notice the end of the
// context before the goroutine that watches it.
func whyOver(s proto.Method_DataServer, err error) error {
	if s.Context().Err() != nil {
		return errFinished
	}
	return err
}

// receive handles the program's records until the stream or the session ends.
func (p *plugin) receive(s proto.Method_DataServer) error {
	for {
		r, err := s.Recv()
		if err == nil {
			err = p.take(r)
		}
		if err == nil {
			err = p.uncrowded()
		}
		if err != nil {
			return err
		}
	}
}

// send sends the engine's records to the program until the ending, and returns its reason. If the
// session is closed, it first sends all records.
func (p *plugin) send(s proto.Method_DataServer, in *inlet) error {
	for {
		end := p.over.reason()
		if end != nil && !errors.Is(end, errFinished) {
			return end
		}
		for _, r := range p.takeEnded() {
			if err := s.Send(r); err != nil {
				return err
			}
		}
		record, ok, err := in.r.Next()
		switch {
		case err != nil:
			return err
		case ok:
			err = p.sendOne(s, record)
		case end != nil:
			return end
		default:
			err = in.sleep()
		}
		if err != nil && !errors.Is(err, errFinished) {
			return err
		}
	}
}

// sendOne sends a record of the engine to the program.
func (p *plugin) sendOne(s proto.Method_DataServer, record []byte) error {
	r, a, err := p.answer(record)
	if err != nil {
		return err
	}
	if err := s.Send(r); err != nil || a == nil {
		return err
	}
	return p.release(a)
}

// close ends the use of rings, arena and bell.
func (p *plugin) close() {
	p.mu.Lock()
	p.shut = true
	p.mu.Unlock()
	p.over.mute()
}
