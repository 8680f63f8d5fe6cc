package perf

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/perf/service"
)

// answerTimeMax is how long a server may take to get ready for a run. It may be
// busy with another client's run.
const answerTimeMax = 60 * time.Second

// A Client measures against one server.
type Client struct {
	side   side
	calls  *bmi.Context
	method string
	class  bmi.Class // of requests
	tag    bmi.Tag

	maxExpected, maxUnexpected int
}

// OpenClient makes a client of the server at an address. It does not connect: the
// first ping or measurement does, and fails if there is no server.
func OpenClient(ep *bmi.Endpoint, address string) (*Client, error) {
	peer, err := ep.Lookup(address)
	if err != nil {
		return nil, err
	}
	c := &Client{side: side{ep: ep, peer: peer}, method: service.MethodOf(address), class: service.Class(ep, address, Class)}
	if c.maxExpected, err = ep.MaxExpectedSize(peer); err != nil {
		return nil, err
	}
	if c.maxUnexpected, err = ep.MaxUnexpectedSize(peer); err != nil {
		return nil, err
	}
	if c.calls, err = ep.OpenContext(); err != nil {
		return nil, err
	}
	return c, nil
}

// Close frees the client's own resources; the endpoint stays open.
func (c *Client) Close() error { return c.calls.Close() }

// ErrSize: the size is over a limit of the method.
var ErrSize = errors.New("perf: message size is over the method's limit")

// PingSizeMax is the largest payload of a ping, in bytes.
func (c *Client) PingSizeMax() int { return max(0, c.maxUnexpected-requestBytes) }

// A Pinger sends pings of one size.
type Pinger struct {
	c              *Client
	request, reply []byte
}

// NewPinger prepares pings with a payload of size bytes.
func (c *Client) NewPinger(size int) (*Pinger, error) {
	if size < 0 || size > c.PingSizeMax() {
		return nil, fmt.Errorf("%w: a ping carries at most %s", ErrSize, FormatSize(c.PingSizeMax()))
	}
	b := request{kind: kindPing, size: size}.append(make([]byte, 0, requestBytes+size))
	for i := range size {
		b = append(b, byte(i))
	}
	return &Pinger{c: c, request: b, reply: make([]byte, len(b))}, nil
}

// Ping sends one ping and returns the time until its answer arrived.
func (p *Pinger) Ping(ctx context.Context) (time.Duration, error) {
	p.c.tag++
	start := time.Now()
	n, err := p.c.calls.Call(ctx, p.c.side.peer, p.c.class, p.c.tag, p.request, p.reply)
	took := time.Since(start)
	if err != nil {
		return 0, err
	}
	if string(p.reply[:n]) != string(p.request) {
		return took, fmt.Errorf("%w: %d bytes came back, not those that were sent; is it `bmi serve` that listens there?", errFormat, n)
	}
	return took, nil
}

// A Point is what to measure.
type Point struct {
	Test Test
	Size int // of a message, in bytes
	// Window is how many messages may be in progress; the test may use fewer.
	Window int
	// Registered: use memory allocated by the method instead of plain memory.
	Registered bool
	// Budget is the approximate time for the measurement.
	Budget time.Duration
}

// Measure measures one point. The calling goroutine should be bound to its core.
func (c *Client) Measure(ctx context.Context, p Point) (Result, error) {
	if p.Test.Limit() || !p.Test.known() {
		return Result{}, fmt.Errorf("perf: %q is no test of a method", p.Test)
	}
	if p.Size > c.maxExpected {
		return Result{}, fmt.Errorf("%w: %s, the most is %s", ErrSize, FormatSize(p.Size), FormatSize(c.maxExpected))
	}
	if p.Window < 1 || p.Window > WindowMax {
		return Result{}, fmt.Errorf("perf: a window of %d messages: choose 1 to %d", p.Window, WindowMax)
	}
	window := WindowFor(p.Test, p.Size, p.Window)
	d := &clientDuel{c: c, ctx: ctx, r: request{
		kind: kindRun, test: p.Test, registered: p.Registered, size: p.Size, window: window,
	}}
	s, err := measure(d, p.Budget)
	if e := d.end(); err == nil {
		err = e
	}
	if err != nil {
		return Result{}, fmt.Errorf("%s of %s: %w", p.Test, FormatSize(p.Size), err)
	}
	return s.result(p.Test, c.method, p.Size, window), nil
}

// clientDuel runs tests against the server.
type clientDuel struct {
	c         *Client
	ctx       context.Context
	r         request
	lane      *lane
	closeLane func() error
}

func (d *clientDuel) begin(steps int) error {
	if err := d.ctx.Err(); err != nil {
		return err
	}
	d.c.tag++
	d.r.steps, d.r.tag = steps, d.c.tag
	var err error
	if d.lane, d.closeLane, err = d.c.side.open(d.r, true); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(d.ctx, answerTimeMax)
	defer cancel()
	d.c.tag++
	var reply [replyBytes + replyTextMax]byte
	n, err := d.c.calls.Call(ctx, d.c.side.peer, d.c.class, d.c.tag, d.r.append(nil), reply[:])
	if err != nil {
		return err
	}
	return parseReply(reply[:n])
}

func (d *clientDuel) step(n int) error { return d.lane.run(d.r.test, true, n, d.r.window) }

// end may be called again.
func (d *clientDuel) end() error {
	if d.closeLane == nil {
		return nil
	}
	err := d.closeLane()
	d.lane, d.closeLane = nil, nil
	return err
}
