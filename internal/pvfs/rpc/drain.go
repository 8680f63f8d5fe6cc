package rpc

import (
	"errors"
	"fmt"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/refusal"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// A server that stops takes only the requests that have already arrived. Clients keep later ones, and send them again to the next
// server at this address: their connections break when this server closes its endpoint. Requests and flows under way have
// DrainTime to end. Then the server cuts them off, and logs that.

// stop makes the server take only the requests that have already arrived.
func (s *Server) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopping = true
	s.wakeLocked()
	s.changed.Broadcast()
}

// drain waits until the server stops, then for the workers, and until the log says what was cut off.
func (s *Server) drain() error {
	s.mu.Lock()
	for !s.stopping {
		s.changed.Wait()
	}
	running, flowing, waiting := s.kinds[kindPlain].running+s.outside, s.kinds[kindFlow].running, s.backlogLocked()
	s.mu.Unlock()
	if running+flowing+waiting > 0 {
		s.opt.Log.Info("pvfs: the server stops when the requests in progress have ended", "requests", running, "transfers", flowing, "waiting", waiting, "limit", s.opt.DrainTime)
	}
	aborted := make(chan struct{})
	late := time.AfterFunc(s.opt.DrainTime, func() {
		defer close(aborted)
		s.abortAll()
	})
	err := s.join()
	if !late.Stop() {
		<-aborted
	}
	return err
}

// join waits for the workers.
func (s *Server) join() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	hopeless := false
	giveUp := time.AfterFunc(s.opt.DrainTime+lastHandlers, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		hopeless = true
		s.changed.Broadcast()
	})
	defer giveUp.Stop()
	for s.workers > 0 && !hopeless {
		s.changed.Wait()
	}
	if s.workers > 0 {
		return errors.Join(s.failed, fmt.Errorf("internal/pvfs/rpc: %d handlers do not return", s.workers))
	}
	return s.failed
}

// A cut is a request that was cut off.
type cut struct {
	peer         bmi.Addr
	op           proto.Op
	moved, total int64 // of its flow
}

// abortAll ends the contexts of all calls, and all flows.
func (s *Server) abortAll() {
	s.cancel()
	s.mu.Lock()
	s.abort = true
	var cuts []cut
	for w := range s.all {
		if w.doing {
			cuts = append(cuts, cut{w.peer, w.op, w.moved.Load(), w.total.Load()})
		}
	}
	for p := range s.pumps {
		p.halt()
	}
	s.mu.Unlock()
	for i, c := range cuts {
		s.opt.Refusals.Add(refusal.CutOff)
		if i < cutOffLinesMax {
			s.logCut(c)
		}
	}
	if more := len(cuts) - cutOffLinesMax; more > 0 {
		s.opt.Log.Warn("pvfs: more was cut off because the server stops", "requests", more)
	}
}

func (s *Server) logCut(c cut) {
	args := []any{"client", s.origin(c.peer), "operation", int32(c.op)}
	if c.op == proto.OpIO {
		args = append(args, "bytes moved", c.moved, "of", c.total)
	}
	s.opt.Log.Warn("pvfs: cut off because the server stops", args...)
}
