package server

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/rpc"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// peers are the other servers of the file system, by index in the configuration.
type peers struct {
	mu     sync.Mutex
	ep     *bmi.Endpoint
	caller *rpc.Caller // nil before openPeers and after closePeers
	at     []peer
	pools  pools
}

// peer is one server. Its addresses are looked up when they are first needed.
type peer struct {
	addresses []string
	best      atomic.Int32 // index of the address that answered last
	kind      atomic.Int32 // kindUnknown, kindAsked, kindOurs or kindOther
	otherKey  atomic.Bool  // it refused this server's signature the last time it was asked
}

// openPeers allows calls to other servers, and starts sampling the counters.
func (s *Server) openPeers(ep *bmi.Endpoint) {
	opt := s.cfg.Calls
	if opt.Timeout == 0 {
		opt.Timeout = s.fs.ServerTimeout
	}
	if opt.FlowTimeout == 0 {
		opt.FlowTimeout = s.fs.ServerFlowTimeout
	}
	opt.FlowBufferSize = cmpOr(opt.FlowBufferSize, s.fs.FlowBufferSize)
	p := &s.peers
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at = make([]peer, len(s.fs.Servers))
	for i, srv := range s.fs.Servers {
		p.at[i].addresses = srv.Addresses()
	}
	p.ep, p.caller = ep, rpc.NewCaller(ep, opt)
	s.work.Go(s.samplePerf)
}

// closePeers ends calls under way and refuses new ones.
func (s *Server) closePeers() {
	p := &s.peers
	p.mu.Lock()
	caller := p.caller
	p.caller = nil
	p.mu.Unlock()
	if caller != nil {
		if err := caller.Close(); err != nil {
			s.log.Warn("calls to other servers did not end", "err", err)
		}
	}
}

// errNoPeers: there is no network yet, or no longer.
var errNoPeers = fmt.Errorf("internal/pvfs/server: cannot reach other servers: %w", proto.EHOSTUNREACH)

// open returns the endpoint and the caller for a call.
func (p *peers) open() (*bmi.Endpoint, *rpc.Caller, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.caller == nil {
		return nil, nil, errNoPeers
	}
	return p.ep, p.caller, nil
}

// call sends a request to another server, by its index, and waits for the response. It tries all addresses of the server, and
// again after a pause if none can be reached. A request that may have been carried out is sent again only if it is idempotent.
// The error is the status of the response, or wraps ETIMEDOUT or EHOSTUNREACH.
func (s *Server) call(ctx context.Context, server int, h *proto.Header, req proto.Request, resp proto.Response) error {
	err := s.exchange(ctx, server, h, req, resp)
	switch {
	case errors.Is(err, errSilent):
		s.log.Warn("another server does not answer", "server", s.fs.Servers[server].Alias, "err", err)
	case errors.Is(err, proto.EPERM) && s.hasOtherKey(ctx, server):
		return fmt.Errorf("%w: %w", proto.ESECURITY, err) // so that clients know that their own request was not at fault
	}
	return err
}

// errSilent is for a server that does not answer.
var errSilent = errors.New("internal/pvfs/server: no answer")

// exchange is call, but does not interpret errors.
func (s *Server) exchange(ctx context.Context, server int, h *proto.Header, req proto.Request, resp proto.Response) error {
	ep, caller, err := s.peers.open()
	if err != nil {
		return err
	}
	if server < 0 || server >= len(s.peers.at) {
		return fmt.Errorf("internal/pvfs/server: no server %d: %w", server, proto.EINVAL)
	}
	h = s.serverHeader(h)
	for round := range callRounds {
		if round > 0 && !pause(ctx, callRoundDelay<<round) {
			break
		}
		var again bool
		if again, err = s.tryAddresses(ctx, ep, caller, &s.peers.at[server], h, req, resp); err == nil {
			return nil
		}
		if !again || ctx.Err() != nil {
			break
		}
	}
	var status proto.Status
	if errors.As(err, &status) {
		return err
	}
	s.peers.at[server].kind.Store(kindUnknown)
	if errors.Is(err, rpc.ErrTimeout) {
		return fmt.Errorf("%w: %w: %w", errSilent, proto.ETIMEDOUT, err)
	}
	return fmt.Errorf("%w: %w: %w", errSilent, proto.EHOSTUNREACH, err)
}

// tryAddresses sends the request to each address of a server, beginning with the one that answered last, until one takes it.
// again: another try may help.
func (s *Server) tryAddresses(ctx context.Context, ep *bmi.Endpoint, caller *rpc.Caller, p *peer, h *proto.Header, req proto.Request, resp proto.Response) (again bool, err error) {
	err = fmt.Errorf("internal/pvfs/server: the configuration has no address: %w", proto.EADDRNTFD)
	best := int(p.best.Load())
	for i := range p.addresses {
		n := (best + i) % len(p.addresses)
		to, wrong := ep.Lookup(p.addresses[n])
		if wrong != nil {
			err = wrong
			continue
		}
		err = caller.Call(ctx, to, h, req, resp)
		switch {
		case err == nil:
			p.best.Store(int32(n))
			return false, nil
		case errors.Is(err, rpc.ErrClosed) || ctx.Err() != nil:
			return false, err
		case errors.Is(err, rpc.ErrNotSent):
			again = !errors.Is(err, rpc.ErrTooLong)
		case errors.Is(err, rpc.ErrNoAnswer):
			if again = rpc.Idempotent(req.Op()); !again {
				return false, err
			}
		default: // a status
			return false, err
		}
	}
	return again, err
}

// serverHeader is h with the hint that says which server asks.
func (s *Server) serverHeader(h *proto.Header) *proto.Header {
	out := new(proto.Header)
	if h != nil {
		out.Capability = h.Capability
		for _, hint := range h.Hints {
			if hint.Type != proto.HintServerID {
				out.Hints = append(out.Hints, hint)
			}
		}
	}
	out.Hints = append(out.Hints, proto.Hint{Type: proto.HintServerID, Value: uint64(s.me)})
	return out
}

// pause waits, and reports false if ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
