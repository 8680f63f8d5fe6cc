package bmi

import (
	"context"
	"log/slog"
	"time"
)

// Config is what an endpoint is opened with. The zero value opens an endpoint
// that only connects.
type Config struct {
	// Listen holds the addresses under which others reach the endpoint, with
	// scheme: "via+shm://name".
	Listen []string
	// Methods are further methods to open at once, by name; others open on
	// the first Lookup of one of their addresses.
	Methods []string
	// Options holds, per method name, the driver's own option type.
	Options map[string]any
	// Limits bound what the endpoint keeps. Zero values mean defaults.
	Limits Limits
	// Log receives the few events worth a line; nil discards them.
	Log *slog.Logger
	// Clock tells the time since an arbitrary start; nil is the monotonic clock.
	Clock func() time.Duration
	// Manual: no background goroutine, and Test calls never sleep whatever
	// their wait. For simulation under one goroutine.
	Manual bool
	// SpinMax is how long a Test call polls at most before it sleeps; 0 means
	// the default, < 0 never to spin.
	SpinMax time.Duration
}

// Limits bound what an endpoint keeps. Zero values mean defaults.
type Limits struct {
	UnexpectedMessages int
	UnexpectedBytes    int
	PendingOps         int
	DrainTimeMax       time.Duration
	CancelTimeMax      time.Duration
}

// Register makes a driver available to Open and Lookup by its name.
func Register(d Driver) {}

// Drivers lists the registered drivers, sorted by name.
func Drivers() []Driver { return nil }

// Endpoint is one process's place in the network.
type Endpoint struct{}

// Context holds operations and their completions.
type Context struct{}

// Message is an unexpected message as a handler sees it.
type Message struct {
	From  Addr
	Class Class
	Tag   Tag
	Data  []byte // valid only during the call
}

// Unexpected is an unexpected message taken from the queue.
type Unexpected struct {
	From  Addr
	Class Class
	Tag   Tag
	Data  []byte // the caller's until Release
}

// Release gives the buffer back.
func (u *Unexpected) Release() {}

// Open opens an endpoint.
func Open(ctx context.Context, cfg Config) (*Endpoint, error) { return nil, ErrNotSupported }

func (e *Endpoint) Lookup(address string) (Addr, error) { return Addr{}, ErrNotSupported }
func (e *Endpoint) Addresses() []string                 { return nil }
func (e *Endpoint) OpenContext() (*Context, error)      { return nil, ErrNotSupported }
func (e *Endpoint) TestUnexpected(out []Unexpected, wait time.Duration) (int, error) {
	return 0, ErrNotSupported
}
func (e *Endpoint) TestUnexpectedClass(class Class, out []Unexpected, wait time.Duration) (int, error) {
	return 0, ErrNotSupported
}
func (e *Endpoint) Handle(class Class, fn func(Message)) error { return ErrNotSupported }
func (e *Endpoint) Alloc(a Addr, size int) ([]byte, error)     { return nil, ErrNotSupported }
func (e *Endpoint) Free(a Addr, mem []byte) error              { return ErrNotSupported }
func (e *Endpoint) MaxExpectedSize(a Addr) (int, error)        { return 0, ErrNotSupported }
func (e *Endpoint) MaxUnexpectedSize(a Addr) (int, error)      { return 0, ErrNotSupported }
func (e *Endpoint) DropAddr(a Addr) error                      { return ErrNotSupported }
func (e *Endpoint) CheckAddr(a Addr) error                     { return ErrNotSupported }
func (e *Endpoint) QueryAddrRange(a Addr, pattern string) (bool, error) {
	return false, ErrNotSupported
}
func (e *Endpoint) Info() []Info                       { return nil }
func (e *Endpoint) Stats() Stats                       { return Stats{} }
func (e *Endpoint) Close() error                       { return ErrNotSupported }
func (e *Endpoint) Shutdown(ctx context.Context) error { return ErrNotSupported }

// NextDeadline is the earliest time, in terms of Config.Clock, at which an open
// method wants to be polled. It is for who drives an endpoint with Config.Manual.
func (e *Endpoint) NextDeadline() (at time.Duration, ok bool) { return 0, false }

func (c *Context) PostSend(to Addr, tag Tag, buf []byte, user any) (Posted, error) {
	return Posted{}, ErrNotSupported
}
func (c *Context) PostRecv(from Addr, tag Tag, buf []byte, user any) (Posted, error) {
	return Posted{}, ErrNotSupported
}
func (c *Context) PostSendList(to Addr, tag Tag, bufs [][]byte, user any) (Posted, error) {
	return Posted{}, ErrNotSupported
}
func (c *Context) PostRecvList(from Addr, tag Tag, bufs [][]byte, user any) (Posted, error) {
	return Posted{}, ErrNotSupported
}
func (c *Context) PostSendUnexpected(to Addr, class Class, tag Tag, buf []byte, user any) (Posted, error) {
	return Posted{}, ErrNotSupported
}
func (c *Context) PostSendUnexpectedList(to Addr, class Class, tag Tag, bufs [][]byte, user any) (Posted, error) {
	return Posted{}, ErrNotSupported
}
func (c *Context) Test(op OpID, wait time.Duration) (Completion, bool, error) {
	return Completion{}, false, ErrNotSupported
}
func (c *Context) TestSome(ops []OpID, out []Completion, wait time.Duration) (int, error) {
	return 0, ErrNotSupported
}
func (c *Context) TestContext(out []Completion, wait time.Duration) (int, error) {
	return 0, ErrNotSupported
}
func (c *Context) Cancel(op OpID) error { return ErrNotSupported }
func (c *Context) Close() error         { return ErrNotSupported }
func (c *Context) Send(ctx context.Context, to Addr, tag Tag, buf []byte) error {
	return ErrNotSupported
}
func (c *Context) Recv(ctx context.Context, from Addr, tag Tag, buf []byte) (int, error) {
	return 0, ErrNotSupported
}
func (c *Context) SendUnexpected(ctx context.Context, to Addr, class Class, tag Tag, buf []byte) error {
	return ErrNotSupported
}
func (c *Context) Call(ctx context.Context, to Addr, class Class, tag Tag, request, reply []byte) (int, error) {
	return 0, ErrNotSupported
}
