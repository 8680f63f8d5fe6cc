package plugins

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/bmi/about"
	"github.com/viaduct-hpc/viaduct/internal/plugins/host"
	"github.com/viaduct-hpc/viaduct/plugins/proto"
)

// resolvedMax limits the addresses whose canonical texts a session caches. Beyond it the cache is
// cleared, and the plugin is asked again.
const resolvedMax = 4096

// link returns the attachment to ask. If there is none, it waits for the next plugin.
func (s *session) link() (*attachment, error) {
	if s.full.Load() && !s.polling {
		s.takeNews()
	}
	s.retry()
	limit := time.NewTimer(s.plugin.opts.waits.next)
	defer limit.Stop()
	for {
		s.mailbox.Lock()
		at, err, never := s.current, s.last, s.final || s.failed
		changed := s.waitLocked()
		s.mailbox.Unlock()
		switch {
		case at != nil:
			return at, nil
		case never:
			return nil, err
		}
		select {
		case <-changed:
		case <-limit.C:
			return nil, err
		}
	}
}

// ask calls the plugin for something other than messages, with the engine lock held.
func (s *session) ask(what string, call func(ctx context.Context, c proto.MethodClient, session uint64) error) error {
	at, err := s.link()
	if err != nil {
		return err
	}
	return at.in.ask(context.Background(), s.plugin.opts.HangTimeout, what, func(ctx context.Context) error {
		return call(ctx, at.in.client, at.id)
	})
}

// Resolve implements bmi.Method.
func (s *session) Resolve(address string) (bmi.Addr, error) { return s.inner.Resolve(address) }

// resolve returns the canonical text of an address.
func (s *session) resolve(address string) (string, error) {
	if text, ok := s.resolved[address]; ok {
		return text, nil
	}
	if len(address) > host.AddressMax {
		return "", fmt.Errorf("%w: %.64q... of %d bytes, the longest has %d", bmi.ErrBadAddress, address, len(address), host.AddressMax)
	}
	var reply *proto.ResolveReply
	err := s.ask("resolve an address", func(ctx context.Context, c proto.MethodClient, session uint64) (err error) {
		reply, err = c.Resolve(ctx, &proto.ResolveRequest{Session: session, Address: s.names.toPlugin(address)})
		return err
	})
	if err == nil {
		err = failureOf(reply.GetFailure())
	}
	if err != nil {
		return "", err
	}
	text, err := s.names.address(reply.GetAddress())
	if err != nil {
		return "", err
	}
	if len(s.resolved) >= resolvedMax {
		clear(s.resolved)
	}
	s.resolved[address] = text
	return text, nil
}

// Check implements bmi.Checker.
func (s *session) Check(p bmi.Peer) error {
	if !s.first.checks {
		return s.cannot("tell whether a peer is alive")
	}
	return s.inner.Check(p)
}

func (s *session) check(address string) error {
	var reply *proto.CheckReply
	err := s.ask("check a peer", func(ctx context.Context, c proto.MethodClient, session uint64) (err error) {
		reply, err = c.Check(ctx, &proto.CheckRequest{Session: session, Address: s.names.toPlugin(address)})
		return err
	})
	if err == nil {
		err = failureOf(reply.GetFailure())
	}
	return err
}

// InRange implements bmi.Ranger.
func (s *session) InRange(p bmi.Peer, pattern string) (bool, error) {
	if !s.first.ranges {
		return false, s.cannot("tell what is in a range of addresses")
	}
	return s.inner.InRange(p, pattern)
}

func (s *session) inRange(address, pattern string) (bool, error) {
	var reply *proto.InRangeReply
	err := s.ask("look at a range", func(ctx context.Context, c proto.MethodClient, session uint64) (err error) {
		reply, err = c.InRange(ctx, &proto.InRangeRequest{Session: session, Address: s.names.toPlugin(address), Pattern: s.names.toPlugin(pattern)})
		return err
	})
	if err == nil {
		err = failureOf(reply.GetFailure())
	}
	return reply.GetInside() && err == nil, err
}

func (s *session) cannot(what string) error {
	return fmt.Errorf("%w: method %s of plugin %s cannot %s", bmi.ErrNotSupported, s.names.registered, s.plugin.opts.Name, what)
}

// Stats implements bmi.Statser: the plugin's counters since its process started.
func (s *session) Stats(peers []bmi.PeerStats) (bmi.MethodStats, []bmi.PeerStats) {
	var reply *proto.StatsReply
	var counted struct {
		Method bmi.MethodStats
		Peers  []bmi.PeerStats
	}
	if !s.first.counts {
		return counted.Method, peers
	}
	err := s.ask("count", func(ctx context.Context, c proto.MethodClient, session uint64) (err error) {
		reply, err = c.Stats(ctx, &proto.StatsRequest{Session: session})
		return err
	})
	if err == nil {
		err = json.Unmarshal(reply.GetJson(), &counted)
	}
	if err != nil {
		s.cfg.Log.Warn("a plugin does not report its counters", "plugin", s.plugin.opts.Name, "error", err)
		return bmi.MethodStats{}, peers
	}
	counted.Method.Method, counted.Method.CopiedBytes = s.names.registered, s.inner.CopiedBytes()
	counted.Method.Own = slices.DeleteFunc(counted.Method.Own, func(c about.Count) bool { return !c.Valid() })
	for _, p := range counted.Peers {
		p.Method, p.Addr, p.State = s.names.registered, printable(s.names.fromPlugin(p.Addr)), printable(p.State)
		peers = append(peers, p)
	}
	return counted.Method, peers
}
