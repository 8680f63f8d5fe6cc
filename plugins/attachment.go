package plugins

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/plugins/bell"
	"github.com/viaduct-hpc/viaduct/internal/plugins/host"
	"github.com/viaduct-hpc/viaduct/internal/plugins/ring"
	"github.com/viaduct-hpc/viaduct/internal/plugins/segment"
	"github.com/viaduct-hpc/viaduct/internal/plugins/stream"
	"github.com/viaduct-hpc/viaduct/internal/plugins/wire"
	"github.com/viaduct-hpc/viaduct/plugins/proto"
)

// An attachment is a session in one incarnation: its rings, and the stream that replaces them for a
// plugin without shared memory.
type attachment struct {
	in    *incarnation
	id    uint64 // of the session in the plugin
	rings *segment.Rings
	line  *host.Line
	bell  *bell.Bell   // wakes the reader of the program's records
	pump  *stream.Pump // nil if the plugin has the rings
}

// attach opens the session's method in an incarnation.
func (s *session) attach(ctx context.Context, in *incarnation, listen []string) (*attachment, *opened, error) {
	at := &attachment{in: in, id: in.session.Add(1)}
	var err error
	if at.bell, err = bell.New(); err != nil {
		return nil, nil, err
	}
	if err := s.share(at); err != nil {
		return nil, nil, err
	}
	what, err := s.openIn(ctx, at, listen)
	if err != nil {
		at.forget(s.plugin)
		return nil, nil, errors.Join(err, at.release())
	}
	return at, what, nil
}

// share makes the rings of an attachment and passes them to the plugin.
func (s *session) share(at *attachment) error {
	rings, fd, err := segment.CreateRings(s.plugin.opts.RingBytes)
	if err != nil {
		return errors.Join(err, at.bell.Close())
	}
	defer unix.Close(fd)
	at.rings = rings
	out, err1 := ring.NewWriter(rings.ToPlugin)
	in, err2 := ring.NewReader(rings.ToProgram)
	at.line = &host.Line{Out: out, In: in, Bell: at.bell.Ring}
	if err = errors.Join(err1, err2); err == nil && at.in.rings {
		err = at.in.proc.Pass(at.id, fd, s.arenaFD, at.bell.FD(), s.bell.FD())
	}
	if err != nil {
		return errors.Join(fmt.Errorf("plugins: sharing memory with plugin %s: %w", at.in.name, err), at.release())
	}
	return nil
}

// openIn asks the plugin to open the method, and connects the stream if it needs one.
func (s *session) openIn(ctx context.Context, at *attachment, listen []string) (*opened, error) {
	own := make([]string, len(listen))
	for i, address := range listen {
		own[i] = s.names.toPlugin(address)
	}
	var reply *proto.OpenReply
	err := at.in.ask(ctx, s.plugin.opts.HangTimeout, "open a method", func(ctx context.Context) (err error) {
		reply, err = at.in.client.Open(ctx, &proto.OpenRequest{
			Session: at.id, Method: s.names.own, Listen: own, Options: s.options, Rings: at.in.rings,
		})
		return err
	})
	if err == nil {
		err = failureOf(reply.GetFailure())
	}
	if err != nil {
		return nil, err
	}
	what, err := infoOf(s.names, &s.plugin.opts, reply.GetInfo())
	if err != nil || at.in.rings {
		return what, err
	}
	at.pump, err = stream.Dial(ctx, at.in.client, at.id, at.rings, s.arena.Mem, at.bell, s.Wake)
	if err != nil {
		return nil, fmt.Errorf("plugins: connecting to plugin %s: %w", at.in.name, err)
	}
	s.plugin.spawn(func() { at.watch(s) })
	return what, nil
}

// dyingTime is how long a process whose connection broke may take to die: the way it ended says
// more than the broken connection.
const dyingTime = 500 * time.Millisecond

// watch kills a plugin whose stream ended before the session.
func (at *attachment) watch(s *session) {
	<-at.pump.Done()
	err := at.pump.Err()
	if err == nil || s.closing.Load() {
		return
	}
	if hungUp(err) {
		limit := time.NewTimer(at.in.waits.dying)
		defer limit.Stop()
		select {
		case <-at.in.proc.Done():
			return
		case <-limit.C:
		}
	}
	at.in.kill(fmt.Errorf("plugin %s was killed because the stream of an endpoint ended: %w", at.in.name, err))
}

// forget closes a session that is not needed in the plugin, in the background.
func (at *attachment) forget(p *Plugin) {
	p.spawn(func() {
		ctx, cancel := context.WithTimeout(p.ctx, p.opts.HangTimeout)
		defer cancel()
		_, _ = at.in.client.Close(ctx, &proto.CloseRequest{Session: at.id}) // it may not have been opened
	})
}

// release frees the shared memory. The plugin must be dead, or have closed the session, or have
// been asked to close it and use no shared memory.
func (at *attachment) release() error {
	if at.pump != nil {
		at.pump.Close()
	}
	return errors.Join(at.rings.Close(), at.bell.Close())
}

// failureOf returns the error in a plugin's answer.
func failureOf(f *proto.Failure) error {
	status := f.GetStatus()
	if status < 0 || status > proto.Status_OTHER {
		status = proto.Status_OTHER
	}
	text := f.GetText()
	return wire.Status(status).Err(text[:min(len(text), wire.TextMax)])
}
