//go:build linux

package hosts

import (
	"context"
	"io"
	"net/rpc"
	"os"
	"sync/atomic"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// A Node is an endpoint in a process of its own. Its methods are called from the
// test, by net/rpc.
type Node struct {
	ep    *bmi.Endpoint
	moved atomic.Uint64 // messages received, ever
	limit chan limit    // for the open Talk in progress
}

// A limit is a count of messages for an open Talk, which answers with those that it has posted.
type limit struct {
	count  int // 0: post nothing more for now
	posted chan int
}

// Limit ends an open Talk after a number of messages each way. A first call with 0 returns how many have
// been posted.
func (n *Node) Limit(count int, posted *int) error {
	l := limit{count, make(chan int, 1)}
	n.limit <- l
	*posted = <-l.posted
	return nil
}

// serve executes the calls of the test until the test closes the connection.
func serve() error {
	s := rpc.NewServer()
	n := &Node{limit: make(chan limit)}
	if err := s.Register(n); err != nil {
		return err
	}
	s.ServeConn(struct {
		io.Reader
		io.WriteCloser
	}{os.Stdin, os.Stdout})
	if n.ep == nil {
		return nil
	}
	return n.ep.Close()
}

// Open opens the endpoint; without an address it only connects.
func (n *Node) Open(listen string, at *string) error {
	cfg := bmi.Config{Methods: []string{"via+udp"}}
	if listen != "" {
		cfg.Listen = []string{"via+udp://" + listen}
	}
	var err error
	if n.ep, err = bmi.Open(context.Background(), cfg); err == nil && listen != "" {
		*at = n.ep.Addresses()[0]
	}
	return err
}

// Moved is how many messages the node has received so far.
func (n *Node) Moved(_ int, moved *uint64) error {
	*moved = n.moved.Load()
	return nil
}

// Stats are those of the method.
func (n *Node) Stats(_ int, s *bmi.MethodStats) error {
	*s = n.ep.Stats().Methods[0]
	return nil
}

// greet tells a partner who this is, so that it can answer.
func (n *Node) greet(c *bmi.Context, t *Talk, to bmi.Addr) error {
	ctx, cancel := context.WithTimeout(context.Background(), t.Within)
	defer cancel()
	return c.SendUnexpected(ctx, to, 0, bmi.Tag(t.Me), []byte("hello"))
}

// greeted waits for a partner to say who it is.
func (n *Node) greeted(until time.Time) (index int, from bmi.Addr, err error) {
	var in [1]bmi.Unexpected
	got, err := n.ep.TestUnexpected(in[:], time.Until(until))
	if err == nil && got == 0 {
		err = context.DeadlineExceeded
	}
	return int(in[0].Tag), in[0].From, err
}
