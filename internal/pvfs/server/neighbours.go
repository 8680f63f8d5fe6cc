package server

import (
	"context"
	"errors"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// greetNeighbours asks each other server, when that is up, whether it accepts requests of this one, and logs why not. Otherwise
// different keys would show only when a user's request fails.
func (s *Server) greetNeighbours() {
	for i := range s.fs.Servers {
		if i == s.me {
			continue
		}
		s.work.Go(func() {
			for errors.Is(s.greet(s.ctx, i), errSilent) && pause(s.ctx, greetDelay) {
			}
		})
	}
}

// greet asks a server whether it accepts requests of this one.
func (s *Server) greet(ctx context.Context, server int) error {
	err := s.exchange(ctx, server, &proto.Header{Capability: s.serverCapability()}, &proto.NoopReq{}, &proto.NoopResp{})
	p, alias := &s.peers.at[server], s.fs.Servers[server].Alias
	was := p.otherKey.Swap(errors.Is(err, proto.EPERM))
	switch {
	case err == nil, errors.Is(err, errSilent), errors.Is(err, errNoPeers):
	case errors.Is(err, proto.EPERM):
		if !was {
			s.log.Error("another server has a different key: operations that need both will fail; give all servers the same --key-file", "server", alias)
		}
	case errors.Is(err, proto.EACCES):
		s.log.Error("another server refuses this one: its TrustedNetwork does not have this server's address", "server", alias)
	default:
		s.log.Error("another server refuses this one", "server", alias, "err", err)
	}
	return err
}

// hasOtherKey finds out whether a server that refused a request with EPERM rejects this server's key.
func (s *Server) hasOtherKey(ctx context.Context, server int) bool {
	return errors.Is(s.greet(ctx, server), proto.EPERM)
}
