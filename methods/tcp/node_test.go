package tcp_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"net"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
	"github.com/viaduct-hpc/viaduct/methods/tcp"
)

// patience bounds every single wait. It passes only when something is broken.
const patience = wallclock.Patience

// addressOf is the address of the endpoint called name. It is the same in every process,
// without a table: all of 127/8 is loopback, and the ports are below those that a kernel
// assigns.
func addressOf(name string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	v := h.Sum64()
	return fmt.Sprintf("tcp://127.%d.%d.%d:%d", 1+byte(v>>8)%250, byte(v>>16), 1+byte(v>>24)%250, 10000+(v>>32)%20000)
}

// nodeNames makes names unique in this process.
var nodeNames atomic.Uint64

// freshAddress is an address without a listener.
func freshAddress() string {
	return addressOf(fmt.Sprintf("node-%d-%d", os.Getpid(), nodeNames.Add(1)))
}

// hostPort is an address as package net wants it.
func hostPort(address string) string { return hostPortOf("tcp", address) }

func hostPortOf(scheme, address string) string { return strings.TrimPrefix(address, scheme+"://") }

// A node is an endpoint with one context.
type node struct {
	t   testing.TB
	ep  *bmi.Endpoint
	c   *bmi.Context
	out [64]bmi.Completion
	in  [64]bmi.Unexpected

	pending int                     // operations posted and not completed
	ended   map[int]bmi.Completion  // by the number that post gave them
	live    map[int]bool            // numbers of pending operations
	next    int                     // the next number
	taken   func(u *bmi.Unexpected) // handles unexpected messages; nil: they stay
}

// openNode opens an endpoint that listens under the addresses, if any.
func openNode(t testing.TB, opts tcp.Options, listen ...string) *node {
	t.Helper()
	return openConfig(t, bmi.Config{Listen: listen, Methods: []string{"tcp"}, Options: map[string]any{"tcp": opts}})
}

func openConfig(t testing.TB, cfg bmi.Config) *node {
	t.Helper()
	e, err := bmi.Open(context.Background(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	c, err := e.OpenContext()
	require.NoError(t, err)
	return &node{t: t, ep: e, c: c, ended: make(map[int]bmi.Completion), live: make(map[int]bool)}
}

func (n *node) lookup(address string) bmi.Addr {
	n.t.Helper()
	a, err := n.ep.Lookup(address)
	require.NoError(n.t, err)
	return a
}

// posted follows an operation and returns its number.
func (n *node) posted(post func(user any) (bmi.Posted, error)) int {
	n.t.Helper()
	id := n.next
	n.next++
	p, err := post(id)
	require.NoError(n.t, err)
	if p.Done {
		n.ended[id] = bmi.Completion{User: id, Size: p.Size}
		return id
	}
	n.live[id] = true
	n.pending++
	return id
}

func (n *node) send(to bmi.Addr, tag bmi.Tag, buf []byte) int {
	n.t.Helper()
	return n.posted(func(user any) (bmi.Posted, error) { return n.c.PostSend(to, tag, buf, user) })
}

func (n *node) recv(from bmi.Addr, tag bmi.Tag, buf []byte) int {
	n.t.Helper()
	return n.posted(func(user any) (bmi.Posted, error) { return n.c.PostRecv(from, tag, buf, user) })
}

func (n *node) sendUnexpected(to bmi.Addr, tag bmi.Tag, buf []byte) int {
	n.t.Helper()
	return n.posted(func(user any) (bmi.Posted, error) { return n.c.PostSendUnexpected(to, 0, tag, buf, user) })
}

// turn takes completions, and unexpected messages if taken is set. An operation that completes
// twice, or that was not posted, fails the test.
func (n *node) turn(wait time.Duration) {
	n.t.Helper()
	if n.taken != nil {
		k, err := n.ep.TestUnexpected(n.in[:], 0)
		require.NoError(n.t, err)
		for i := range n.in[:k] {
			n.taken(&n.in[i])
			n.in[i].Release()
		}
	}
	k, err := n.c.TestContext(n.out[:], wait)
	require.NoError(n.t, err)
	for _, c := range n.out[:k] {
		id := c.User.(int)
		require.True(n.t, n.live[id], "operation %d completed and was not pending", id)
		delete(n.live, id)
		n.pending--
		n.ended[id] = c
	}
}

// until takes turns until done reports true; the others take turns as well.
func (n *node) until(what string, done func() bool, others ...*node) {
	n.t.Helper()
	for end := time.Now().Add(patience); !done(); {
		if !time.Now().Before(end) {
			require.Fail(n.t, "not in time", "%s: not within %v; %d operations pending; %+v", what, patience, n.pending, n.ep.Stats())
		}
		for _, o := range others {
			o.turn(0)
		}
		n.turn(time.Millisecond)
	}
}

// wait waits for an operation, returns its completion and forgets it.
func (n *node) wait(id int, others ...*node) bmi.Completion {
	n.t.Helper()
	n.until("operation "+strconv.Itoa(id), func() bool { _, ok := n.ended[id]; return ok }, others...)
	c := n.ended[id]
	delete(n.ended, id)
	return c
}

// stats are those of the method.
func (n *node) stats() bmi.MethodStats {
	for _, m := range n.ep.Stats().Methods {
		if m.Method == "tcp" {
			return m
		}
	}
	return bmi.MethodStats{}
}

// greet connects client to server and returns how the server addresses it.
func greet(client, server *node, to bmi.Addr) (from bmi.Addr) {
	client.t.Helper()
	taken := server.taken
	server.taken = func(u *bmi.Unexpected) { from = u.From }
	hello := client.sendUnexpected(to, 0, []byte("hello"))
	client.until("a greeting", func() bool { return !from.IsZero() }, server)
	require.NoError(client.t, client.wait(hello).Err)
	server.taken = taken
	return from
}

// exchange sends one message of size bytes from a to b, and one back.
func exchange(a, b *node, toB, toA bmi.Addr, tag bmi.Tag, size int) {
	a.t.Helper()
	for _, way := range []struct {
		from, to *node
		dst, src bmi.Addr
	}{{a, b, toB, toA}, {b, a, toA, toB}} {
		got, want := make([]byte, size), pattern(uint64(tag)+uint64(size), size)
		r := way.to.recv(way.src, tag, got)
		s := way.from.send(way.dst, tag, want)
		require.NoError(a.t, way.to.wait(r, way.from).Err)
		require.NoError(a.t, way.from.wait(s, way.to).Err)
		require.Equal(a.t, want, got)
	}
}

// pattern is a unique message. The race detector need not check each byte of memory that no
// other goroutine has yet.
//
//go:norace
func pattern(id uint64, size int) []byte {
	b := make([]byte, size)
	v := id*0x9e3779b97f4a7c15 + 1
	for i := range b {
		v ^= v << 13
		v ^= v >> 7
		v ^= v << 17
		b[i] = byte(v)
	}
	return b
}

// dialRaw connects a plain socket to an endpoint.
func dialRaw(t testing.TB, address string) *net.TCPConn {
	t.Helper()
	c, err := net.DialTimeout("tcp", hostPort(address), patience)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(patience)))
	return c.(*net.TCPConn)
}

// listenRaw takes connections of endpoints by a plain socket.
func listenRaw(t testing.TB, host string) (l *net.TCPListener, address string) {
	t.Helper()
	any, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = any.Close() })
	l = any.(*net.TCPListener)
	require.NoError(t, l.SetDeadline(time.Now().Add(patience)))
	return l, "tcp://" + net.JoinHostPort(host, strconv.Itoa(l.Addr().(*net.TCPAddr).Port))
}
