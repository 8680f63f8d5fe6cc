package tcp_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/tcp/wire"
	"github.com/viaduct-hpc/viaduct/methods/tcp"
)

// A siege is a victim that listens and an honest peer of the victim.
type siege struct {
	t              testing.TB
	address        string
	victim, honest *node
	toVictim       bmi.Addr // of honest
	toHonest       bmi.Addr // of victim
	tag            bmi.Tag
}

func newSiege(t testing.TB, opts tcp.Options, change ...func(*bmi.Config)) *siege {
	t.Helper()
	s := &siege{t: t, address: freshAddress()}
	cfg := bmi.Config{Listen: []string{s.address}, Options: map[string]any{"tcp": opts}}
	for _, f := range change {
		f(&cfg)
	}
	s.victim = openConfig(t, cfg)
	s.honest = openNode(t, tcp.Options{})
	s.toVictim = s.honest.lookup(s.address)
	s.toHonest = greet(s.honest, s.victim, s.toVictim)
	return s
}

// served proves that the victim still serves its honest peer, with messages of
// every mode.
func (s *siege) served() {
	s.t.Helper()
	for _, size := range []int{0, 100, wire.EagerMax, 200_000} {
		s.tag++
		exchange(s.honest, s.victim, s.toVictim, s.toHonest, s.tag, size)
	}
}

// closes waits until the victim has closed the connection.
func (s *siege) closes(c net.Conn) {
	s.t.Helper()
	gone := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, c)
		gone <- err
	}()
	var err error
	ended := false
	s.victim.until("the victim closes the connection", func() bool {
		select {
		case err = <-gone:
			ended = true
		default:
		}
		return ended
	})
	if e, ok := err.(net.Error); ok {
		require.False(s.t, e.Timeout(), "the victim did not close the connection: %v", err)
	}
}

// raw is a header of any fields.
func raw(magic, mode uint32, tag, size int64) []byte {
	b := binary.LittleEndian.AppendUint32(nil, magic)
	b = binary.LittleEndian.AppendUint32(b, mode)
	b = binary.LittleEndian.AppendUint64(b, uint64(tag))
	return binary.LittleEndian.AppendUint64(b, uint64(size))
}

// TestHostileHeaders: each of these closes its connection, and no other, and is
// counted; earlier messages are still delivered.
func TestHostileHeaders(t *testing.T) {
	for name, bad := range map[string][]byte{
		"http":                    []byte("GET / HTTP/1.1\r\n\r\n"),
		"one wrong byte":          {0x77},
		"fourth byte wrong":       {0xbf, 0xca, 0, 1},
		"stand-alone BMI":         raw(wire.MagicStandalone, 2, 0, 60),
		"TLS":                     {0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3},
		"mode 0":                  raw(wire.Magic, 0, 0, 0),
		"mode immediate":          raw(wire.Magic, 1, 0, 8),
		"all modes":               raw(wire.Magic, math.MaxUint32, 0, 8),
		"unexpected over limit":   raw(wire.Magic, 2, 0, wire.UnexpectedMax+1),
		"eager over limit":        raw(wire.Magic, 4, 0, wire.ExpectedMax+1),
		"rendezvous over limit":   raw(wire.Magic, 8, 0, wire.ExpectedMax+1),
		"negative size":           raw(wire.Magic, 2, 0, -1),
		"most negative size":      raw(wire.Magic, 4, 0, math.MinInt64),
		"largest size":            raw(wire.Magic, 8, 0, math.MaxInt64),
		"size that looks small":   raw(wire.Magic, 4, 0, 1<<32+8),
		"bad header behind a lot": append(bytes.Repeat(raw(wire.Magic, 4, 9, 0), 300), raw(wire.Magic, 3, 0, 0)...),
	} {
		t.Run(name, func(t *testing.T) {
			s := newSiege(t, tcp.Options{})
			var got []string
			s.victim.taken = func(u *bmi.Unexpected) { got = append(got, string(u.Data)) }
			before := s.victim.stats()
			c := dialRaw(t, s.address)
			_, err := c.Write(append(append(raw(wire.Magic, 2, 1, 5), "first"...), bad...))
			require.NoError(t, err)
			s.closes(c)
			s.victim.until("the message before it", func() bool { return len(got) > 0 })
			assert.Equal(t, []string{"first"}, got)
			after := s.victim.stats()
			assert.Equal(t, before.Errors.Protocol+1, after.Errors.Protocol)
			assert.Equal(t, before.Connected, after.Connected)
			s.served()
		})
	}
}

// TestHostileHalfHeader: a header that stays incomplete closes its connection,
// wherever it stopped. A header that has not begun may take any time, and so may
// a message.
func TestHostileHalfHeader(t *testing.T) {
	const limit = 200 * time.Millisecond
	s := newSiege(t, tcp.Options{HeaderTimeout: limit})
	header := raw(wire.Magic, 2, 1, 4)
	silent, slow := dialRaw(t, s.address), dialRaw(t, s.address)
	_, err := slow.Write(append(append([]byte(nil), header...), "sl"...))
	require.NoError(t, err)
	for _, n := range []int{1, 4, 23} {
		before := s.victim.stats().Errors.Protocol
		c := dialRaw(t, s.address)
		began := time.Now()
		_, err := c.Write(append(append(append([]byte(nil), header...), "abcd"...), header[:n]...))
		require.NoError(t, err)
		s.closes(c)
		require.GreaterOrEqual(t, time.Since(began), limit, "it was given no time for the other %d bytes", len(header)-n)
		require.Equal(t, before+1, s.victim.stats().Errors.Protocol)
	}
	require.EqualValues(t, 3, s.victim.stats().Errors.Incomplete)
	var got []string
	s.victim.taken = func(u *bmi.Unexpected) { got = append(got, string(u.Data)) }
	_, err = slow.Write([]byte("ow"))
	require.NoError(t, err)
	_, err = silent.Write(append(header, "late"...))
	require.NoError(t, err)
	s.victim.until("messages of the slow", func() bool { return contains(got, "slow") && contains(got, "late") })
	s.served()
}

func contains(all []string, want string) bool {
	for _, s := range all {
		if s == want {
			return true
		}
	}
	return false
}

// flood writes copies of a message until the victim has not taken any for a
// while. It returns how many bytes were sent, and whether that was all.
func (s *siege) flood(c *net.TCPConn, message []byte, most int) (sent int, all bool) {
	s.t.Helper()
	type result struct {
		sent int
		err  error
	}
	while := 300 * time.Millisecond
	if testing.Short() {
		while /= 6
	}
	many := bytes.Repeat(message, 1+(64<<10)/len(message))
	done := make(chan result, 1)
	go func() {
		var r result
		for r.sent < most && r.err == nil {
			require.NoError(s.t, c.SetWriteDeadline(time.Now().Add(while)))
			var n int
			n, r.err = c.Write(many)
			r.sent += n
		}
		done <- r
	}()
	var r result
	ended := false
	s.victim.until("the flood ends", func() bool {
		select {
		case r = <-done:
			ended = true
		default:
		}
		return ended
	})
	if r.err != nil {
		e, ok := r.err.(net.Error)
		require.True(s.t, ok && e.Timeout(), "the flood ended with %v, not by being held back", r.err)
	}
	return r.sent, r.err == nil
}

// TestHostileFloods: the sender of messages that are not received is held back on
// its own connection, before it costs much memory.
func TestHostileFloods(t *testing.T) {
	const (
		most    = 64 << 20 // far more than the limits and the kernel's buffers
		limit   = 256 << 10
		sockets = 64 << 10 // per connection and direction; the kernel takes several times that
	)
	opts := tcp.Options{EarlyBytesPerPeer: limit, SocketBytes: sockets, HangupTimeout: 100 * time.Millisecond}
	lean := func(cfg *bmi.Config) { cfg.Limits.UnexpectedBytes = limit }
	body := pattern(1, 1000)
	for name, message := range map[string][]byte{
		"unexpected":       append(raw(wire.Magic, 2, 5, 1000), body...),
		"empty unexpected": raw(wire.Magic, 2, 5, 0),
		"eager":            append(raw(wire.Magic, 4, 1<<20, 1000), body...),
		"empty eager":      raw(wire.Magic, 4, 1<<20, 0),
		"rendezvous":       append(raw(wire.Magic, 8, 1<<20, 1000), body...),
		"large rendezvous": append(raw(wire.Magic, 8, 1<<20, 1<<20), make([]byte, 1<<20)...),
	} {
		t.Run(name, func(t *testing.T) {
			s := newSiege(t, opts, lean)
			before := heap()
			c := dialRaw(t, s.address)
			sent, all := s.flood(c, message, most)
			cost := heap() - before
			require.False(t, all, "all %d bytes were taken", sent)
			t.Logf("held back after %d bytes, which cost %d bytes of heap", sent, cost)
			require.Less(t, cost, int64(4<<20))
			require.NoError(t, s.victim.ep.CheckAddr(s.toHonest))
			s.served()
			// An orderly close would wait behind the bytes that are held back.
			require.NoError(t, c.SetLinger(0))
			require.NoError(t, c.Close())
			s.victim.until("the flood's connection is gone", func() bool { return s.victim.stats().Connected == 1 })
			s.victim.until("what it sent is gone too", func() bool {
				now := s.victim.stats()
				return now.EarlyMessages == 0 && now.Peers == 1
			})
			s.served()
		})
	}
}

// TestHeldBackGoesOn: messages that were held back arrive, in order and complete,
// once they are received.
func TestHeldBackGoesOn(t *testing.T) {
	const messages = 3000
	s := newSiege(t, tcp.Options{EarlyBytesPerPeer: 64 << 10, SocketBytes: 64 << 10}, func(cfg *bmi.Config) {
		cfg.Limits.UnexpectedMessages = 50
	})
	for name, mode := range map[string]uint32{"unexpected": 2, "eager": 4, "rendezvous": 8} {
		t.Run(name, func(t *testing.T) {
			c := dialRaw(t, s.address)
			var stream []byte
			stream = append(stream, append(raw(wire.Magic, 2, 0, 5), "hello"...)...)
			for i := range messages {
				stream = append(append(stream, raw(wire.Magic, mode, 7, 1000)...), pattern(uint64(i), 1000)...)
			}
			sent := make(chan error, 1)
			go func() {
				_, err := c.Write(stream)
				sent <- err
			}()
			var from bmi.Addr
			k := 0
			s.victim.taken = func(u *bmi.Unexpected) {
				if u.Tag == 0 {
					from = u.From
					return
				}
				require.True(t, bytes.Equal(pattern(uint64(k), 1000), u.Data), "unexpected message %d", k)
				k++
			}
			defer func() { s.victim.taken = nil }()
			s.victim.until("the greeting", func() bool { return !from.IsZero() })
			if mode == 2 {
				s.victim.until("all of them", func() bool { return k == messages })
			} else {
				s.victim.taken = nil
				for ; k < messages; k++ {
					buf := make([]byte, 1000)
					done := s.victim.wait(s.victim.recv(from, 7, buf))
					require.NoError(t, done.Err)
					require.True(t, bytes.Equal(pattern(uint64(k), 1000), buf), "message %d", k)
				}
			}
			require.NoError(t, <-sent)
			s.served()
		})
	}
}

// TestTruncatedCostsNobodyElse: a message longer than its receive is an error
// only for that receive. The next messages on the same connection are whole.
func TestTruncatedCostsNobodyElse(t *testing.T) {
	s := newSiege(t, tcp.Options{})
	for _, size := range []int{11, wire.EagerMax, 1 << 20, wire.ExpectedMax} {
		s.tag += 2
		short, next := make([]byte, 10), make([]byte, 100)
		a, b := s.victim.recv(s.toHonest, s.tag, short), s.victim.recv(s.toHonest, s.tag+1, next)
		s.honest.send(s.toVictim, s.tag, pattern(1, size))
		s.honest.send(s.toVictim, s.tag+1, pattern(2, 100))
		done := s.victim.wait(a, s.honest)
		require.ErrorIs(t, done.Err, bmi.ErrTruncated)
		require.Equal(t, size, done.Size)
		require.NoError(t, s.victim.wait(b, s.honest).Err)
		require.Equal(t, pattern(2, 100), next)
	}
	require.EqualValues(t, 4, s.victim.stats().Errors.Truncated)
	require.Zero(t, s.victim.stats().Disconnects)
}

// TestCancelHalfArrived: cancelling a receive whose message has half arrived
// returns the buffer and affects neither the connection nor the next message.
func TestCancelHalfArrived(t *testing.T) {
	s := newSiege(t, tcp.Options{})
	c := dialRaw(t, s.address)
	var from bmi.Addr
	s.victim.taken = func(u *bmi.Unexpected) { from = u.From }
	_, err := c.Write(raw(wire.Magic, 2, 0, 0))
	require.NoError(t, err)
	s.victim.until("the greeting", func() bool { return !from.IsZero() })
	for round, size := range []int{100, wire.EagerMax, 1 << 20} {
		whole := pattern(uint64(round), size)
		buf := make([]byte, size)
		tag := bmi.Tag(2 * round)
		id, op := s.victim.pendingRecv(from, tag, buf)
		_, err = c.Write(append(raw(wire.Magic, uint32(wire.Expected(0, size).Mode), int64(tag), int64(size)), whole[:size/2]...))
		require.NoError(t, err)
		s.takes(c)
		require.NoError(t, s.victim.c.Cancel(op))
		require.ErrorIs(t, s.victim.wait(id).Err, bmi.ErrCancelled)
		require.Equal(t, whole[:size/2], buf[:size/2], "it was cancelled before the first half came, and proves nothing")
		clear(buf)
		_, err = c.Write(append(append([]byte(nil), whole[size/2:]...), raw(wire.Magic, 4, int64(tag+1), 50)...))
		require.NoError(t, err)
		_, err = c.Write(pattern(9, 50))
		require.NoError(t, err)
		next := make([]byte, 50)
		require.NoError(t, s.victim.wait(s.victim.recv(from, tag+1, next)).Err)
		require.Equal(t, pattern(9, 50), next)
		require.Equal(t, make([]byte, size), buf, "the buffer was written to after its receive had ended")
	}
	require.Zero(t, s.victim.stats().Disconnects)
	require.Zero(t, s.victim.stats().EarlyMessages)
}

// pendingRecv posts a receive that cannot be done at once.
func (n *node) pendingRecv(from bmi.Addr, tag bmi.Tag, buf []byte) (id int, op bmi.OpID) {
	n.t.Helper()
	id = n.posted(func(user any) (bmi.Posted, error) {
		p, err := n.c.PostRecv(from, tag, buf, user)
		op = p.Op
		return p, err
	})
	require.True(n.t, n.live[id])
	return id, op
}

// takes waits until the victim has read all bytes written to a connection so far.
func (s *siege) takes(c *net.TCPConn) {
	s.t.Helper()
	raw, err := c.SyscallConn()
	require.NoError(s.t, err)
	s.victim.until("everything is acknowledged", func() bool {
		var unsent int
		var no error
		require.NoError(s.t, raw.Control(func(fd uintptr) { unsent, no = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ) }))
		require.NoError(s.t, no)
		return unsent == 0
	})
	for range 100 { // the bytes must get from there to the method, which asks for events only in some polls
		s.victim.turn(0)
	}
}
