//go:build linux

package stream

import (
	"errors"
	"io"
	"sync"

	"github.com/viaduct-hpc/viaduct/plugins/bell"
	"github.com/viaduct-hpc/viaduct/plugins/proto"
	"github.com/viaduct-hpc/viaduct/plugins/ring"
	"github.com/viaduct-hpc/viaduct/plugins/segment"
	"github.com/viaduct-hpc/viaduct/plugins/wire"
)

// Serve serves a stream whose ATTACH was taken already, by an engine that reads
// rings.ToPlugin, writes rings.ToProgram and has all of arena for messages. Half of that,
// a power of two, is the largest message. bell is what the engine rings; ringEngine is
// called when there is something to read and the engine sleeps, from any goroutine.
//
// A program that ends its direction says no more, but listens. Serve returns nil once the
// context of s is done, after it has sent what the engine had said by then: that is how a
// session that is over ends its stream in good order (Limit). Otherwise it returns
// ErrProtocol, or what became of the stream. Rings, arena and bell are the caller's again
// afterwards.
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
	// What reads the stream ends when the stream does, which is after Serve has returned.
	go func() {
		if err := p.hear(s); !errors.Is(err, io.EOF) {
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
	over.end(whyOver(s, p.tell(s, &inlet{r, bell})))
	watch.Wait()
	p.close()
	if err := over.reason(); !errors.Is(err, errFinished) {
		return err
	}
	return nil
}

// whyOver says why s is over for one who learnt it by err: Recv and Send may know that the
// context is done before the one who watches it.
func whyOver(s proto.Method_DataServer, err error) error {
	if s.Context().Err() != nil {
		return errFinished
	}
	return err
}

// hear takes what the program says until the stream ends, or all else.
func (p *plugin) hear(s proto.Method_DataServer) error {
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

// tell tells the program what the engine says, until the end, whose reason it returns. Of
// a session that is over everything is told first.
func (p *plugin) tell(s proto.Method_DataServer, in *inlet) error {
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
			err = p.tellOne(s, record)
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

// tellOne tells the program what a record of the engine says.
func (p *plugin) tellOne(s proto.Method_DataServer, record []byte) error {
	r, a, err := p.answer(record)
	if err != nil {
		return err
	}
	if err := s.Send(r); err != nil || a == nil {
		return err
	}
	return p.release(a)
}

// close gives rings, arena and bell back.
func (p *plugin) close() {
	p.mu.Lock()
	p.shut = true
	p.mu.Unlock()
	p.over.mute()
}
