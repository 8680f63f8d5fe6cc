package client

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/rpc"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// server is one server of the file system.
type server struct {
	alias   string
	address string // the address in use, from the configuration
	addr    bmi.Addr
}

// owner is the index of the server that has an object. ENXIO: no server has it.
func (c *core) owner(h proto.Handle) (int, error) {
	s, ok := c.cfg.Owner(h)
	if !ok || s >= len(c.servers) {
		return 0, proto.ENXIO
	}
	return s, nil
}

// sameServer reports whether two objects certainly have the same server.
func (c *core) sameServer(a, b proto.Handle) bool {
	s, err := c.owner(a)
	other, otherErr := c.owner(b)
	return err == nil && otherErr == nil && s == other
}

// call sends a request to the server of an object. It repeats the request if no answer comes. The error is a proto.Status or an
// *rpc.CallError.
func (c *core) call(ctx context.Context, object proto.Handle, h *proto.Header, req proto.Request, resp proto.Response) error {
	s, err := c.owner(object)
	if err != nil {
		return err
	}
	_, err = c.exchange(ctx, s, h, req, resp)
	return err
}

// callTwice is call for a request that is not idempotent. repeated: an earlier try of the request may have been carried out.
func (c *core) callTwice(ctx context.Context, object proto.Handle, h *proto.Header, req proto.Request, resp proto.Response) (repeated bool, err error) {
	s, err := c.owner(object)
	if err != nil {
		return false, err
	}
	return c.exchange(ctx, s, h, req, resp)
}

// beginCall is the first half of call, for callers that send another request meanwhile. The result is the second half, and must
// be called.
func (c *core) beginCall(ctx context.Context, object proto.Handle, h *proto.Header, req proto.Request, resp proto.Response) (wait func() error) {
	s, err := c.owner(object)
	if err != nil {
		return func() error { return err }
	}
	first := c.begin(ctx, s, h, req, resp)
	return func() error {
		_, err := c.repeat(ctx, s, h, req, resp, first())
		return err
	}
}

// exchange sends a request to a server, and repeats it if no answer comes.
func (c *core) exchange(ctx context.Context, server int, h *proto.Header, req proto.Request, resp proto.Response) (repeated bool, err error) {
	return c.repeat(ctx, server, h, req, resp, c.send(ctx, server, h, req, resp))
}

// repeat does the further tries. The first one ended with err.
func (c *core) repeat(ctx context.Context, server int, h *proto.Header, req proto.Request, resp proto.Response, err error) (repeated bool, _ error) {
	for try := 0; err != nil && passing(err) && try < c.retryLimit; try++ {
		repeated = repeated || !errors.Is(err, rpc.ErrNotSent)
		c.kinds[server].Store(kindUnknown)
		c.opt.Log.Warn("pvfs: a server did not answer, trying again", "server", c.servers[server].alias, "error", err)
		if stop := c.pause(ctx, c.retryDelay); stop != nil {
			break
		}
		err = c.send(ctx, server, h, req, resp)
	}
	return repeated, c.authenticated(req, err)
}

// passing reports whether another try may help after this error.
func passing(err error) bool {
	if s := status(err); s != proto.OK {
		return slices.Contains(awayStatus, s)
	}
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, rpc.ErrClosed),
		errors.Is(err, rpc.ErrTooLong), errors.Is(err, rpc.ErrBadAnswer), errors.Is(err, bmi.ErrClosed),
		errors.Is(err, bmi.ErrUnknownMethod), errors.Is(err, bmi.ErrBadAddress):
		return false
	}
	return true
}

// awayStatus are the answers of a server that cannot reach another one: EHOSTUNREACH from ours, any of them from stock servers.
var awayStatus = []proto.Status{
	proto.EHOSTUNREACH, proto.ECONNREFUSED, proto.ECONNRESET, proto.EHOSTDOWN, proto.ETIMEDOUT, proto.EPIPE,
}

// unsure reports whether a failed request may have been carried out.
func unsure(err error) bool {
	return errors.Is(err, rpc.ErrNoAnswer) || errors.Is(err, rpc.ErrBadAnswer)
}

// pause waits.
func (c *core) pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-c.closed:
		return rpc.ErrClosed
	case <-t.C:
		return nil
	}
}
