package simnic

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// vipltest (methods/via/vipl) checks the contract itself. These tests are for the
// faults and delays that only this provider has.

var microsecond = sim.LinkOptions{DelayMin: time.Microsecond}

// TestDataIsReadLate: a sender that changes its buffer before the completion is
// detected.
func TestDataIsReadLate(t *testing.T) {
	n := newNet(t, 1, nic.ReliableDelivery, microsecond, Options{PostDelayMax: time.Millisecond})
	n.connect()
	changed := 0
	for range 20 {
		n.recv(n.b, n.b.seg(0, 8))
		n.a.mem[0] = 1
		n.send(n.a, &nic.Descriptor{Segments: []nic.Segment{n.a.seg(0, 8)}})
		n.a.mem[0] = 2 // too early
		n.until(n.b, nic.EventRecv)
		changed += int(n.b.mem[0]) - 1
	}
	assert.Equal(t, 20, changed)
}

// TestCompletionsComeOutOfStep: a send may complete before or after its receive is
// seen.
func TestCompletionsComeOutOfStep(t *testing.T) {
	before, after := 0, 0
	sim.Run(t, func(t *testing.T, seed uint64) {
		n := newNet(t, seed, nic.ReliableDelivery, microsecond, Options{SendDelayMax: 100 * time.Microsecond, RecvDelayMax: 100 * time.Microsecond})
		n.connect()
		n.recv(n.b, n.b.seg(0, 8))
		n.send(n.a, &nic.Descriptor{Segments: []nic.Segment{n.a.seg(0, 8)}})
		n.until(n.b, nic.EventRecv)
		if len(n.a.got) == 0 {
			after++
		} else {
			before++
		}
		n.pass(time.Millisecond)
		assert.Len(t, n.a.got, 1)
	})
	if before+after >= 10 {
		assert.Positive(t, before)
		assert.Positive(t, after)
	}
}

// TestRDMAIsTornAndPinned: half of the data arrives before the other half, and
// until then the memory cannot be deregistered.
func TestRDMAIsTornAndPinned(t *testing.T) {
	torn, busy := 0, 0
	for seed := range uint64(20) {
		n := newNet(t, seed, nic.ReliableDelivery, microsecond, Options{RDMATimeMax: 100 * time.Microsecond})
		n.connect()
		op := nic.OpRDMAWrite
		from, to := n.a, n.b
		if seed%2 == 1 {
			op, from, to = nic.OpRDMARead, n.b, n.a
		}
		for i := range 100 {
			from.mem[i] = 7
		}
		d := n.send(n.a, &nic.Descriptor{Op: op, Remote: n.b.remote(0), Segments: []nic.Segment{n.a.seg(0, 100)}})
		for d.Status == nic.StatusPending {
			require.True(t, n.world.Step())
			if to.mem[0] == 7 && to.mem[99] == 0 {
				torn++
				if n.b.dev.Deregister(n.b.h) == nic.ErrBusy {
					busy++
				}
			}
			n.poll()
		}
		require.Equal(t, nic.StatusSuccess, d.Status, "what is under way ends well")
		assert.Equal(t, byte(7), to.mem[99])
		err := n.b.dev.Deregister(n.b.h)
		if err != nil {
			require.ErrorIs(t, err, nic.ErrUnknownHandle, "it went through in the meantime")
		}
	}
	assert.Greater(t, torn, 10)
	assert.Greater(t, busy, 10)
}

func TestLinkLossOnlyCostsTime(t *testing.T) {
	sim.Run(t, func(t *testing.T, seed uint64) {
		n := newNet(t, seed, nic.ReliableDelivery, sim.LinkOptions{DelayMin: time.Microsecond, DelayMean: 50 * time.Microsecond, Loss: 0.3, Corrupt: 0.1, Duplicate: 0.2, Reorder: 0.5}, Options{})
		n.connect()
		var order sim.InOrder[string]
		for i := range 50 {
			n.recv(n.b, n.b.seg(i*8, 8))
			n.a.mem[i] = byte(i)
			n.send(n.a, &nic.Descriptor{Segments: []nic.Segment{n.a.seg(i, 1)}})
		}
		for range 50 {
			d := n.until(n.b, nic.EventRecv).Desc
			require.Equal(t, nic.StatusSuccess, d.Status)
			require.NoError(t, order.Delivered("", uint64(d.Segments[0].Data[0])))
		}
		assert.Greater(t, n.world.Now(), 200*time.Microsecond)
	})
}

func TestADeadLinkBreaksTheConnection(t *testing.T) {
	n := newNet(t, 1, nic.ReliableDelivery, microsecond, Options{})
	n.connect()
	n.world.SetLink("a", "b", sim.LinkOptions{Loss: 1})
	n.send(n.a, &nic.Descriptor{Segments: []nic.Segment{n.a.seg(0, 1)}})
	require.ErrorIs(t, n.until(n.a, nic.EventDisconnected).Conn.Err, nic.ErrTimeout)
	require.ErrorIs(t, n.until(n.b, nic.EventDisconnected).Conn.Err, nic.ErrTimeout)
}

func TestPartitions(t *testing.T) {
	n := newNet(t, 1, nic.ReliableDelivery, microsecond, Options{})
	n.connect()
	// A short one only delays.
	n.w.Cut("a", "b")
	r := n.recv(n.b, n.b.seg(0, 8))
	n.send(n.a, &nic.Descriptor{Segments: []nic.Segment{n.a.seg(0, 8)}})
	n.pass(10 * time.Millisecond)
	assert.Equal(t, nic.StatusPending, r.Status)
	n.w.Heal("a", "b")
	n.until(n.b, nic.EventRecv)
	n.pass(time.Second)
	assert.Empty(t, n.b.got)
	// A long one breaks connections on the link, even idle ones.
	n.w.Cut("a", "b")
	r = n.recv(n.b, n.b.seg(0, 8))
	require.ErrorIs(t, n.until(n.b, nic.EventDisconnected).Conn.Err, nic.ErrTimeout)
	n.until(n.a, nic.EventDisconnected)
	assert.Equal(t, nic.StatusFlushed, r.Status)
	// Nobody connects across it.
	n.newPort(n.a, nic.ReliableDelivery)
	require.NoError(t, n.a.port.Connect("b", nil, time.Second))
	require.ErrorIs(t, n.until(n.a, nic.EventConnectFailed).Conn.Err, nic.ErrTimeout)
}

func TestBreak(t *testing.T) {
	n := newNet(t, 1, nic.ReliableDelivery, microsecond, Options{})
	n.connect()
	n.w.Break("b", "a")
	require.ErrorIs(t, n.until(n.a, nic.EventDisconnected).Conn.Err, nic.ErrTimeout)
	require.Error(t, n.until(n.b, nic.EventDisconnected).Conn.Err)
}

func TestCrashAndRestart(t *testing.T) {
	sim.Run(t, func(t *testing.T, seed uint64) {
		n := newNet(t, seed, nic.ReliableDelivery, microsecond, Options{RDMATimeMax: time.Millisecond})
		n.connect()
		d := n.send(n.b, &nic.Descriptor{Op: nic.OpRDMAWrite, Remote: n.a.remote(0), Segments: []nic.Segment{n.b.seg(0, 100)}})
		n.recv(n.a, n.a.seg(0, 8))
		for range seed % 5 {
			n.world.Step()
		}
		n.w.Crash("a")
		before := append([]byte(nil), n.a.mem...)
		require.ErrorIs(t, n.until(n.b, nic.EventDisconnected).Conn.Err, nic.ErrPeerDied)
		if d.Status != nic.StatusSuccess { // it was faster than the crash
			assert.Equal(t, nic.StatusFlushed, d.Status)
		}
		assert.Zero(t, n.a.dev.Poll(make([]nic.Event, 4)), "a crashed device is silent")
		_, err := n.a.dev.OpenPort(nic.PortAttrs{RecvDepth: 1, SendDepth: 1}, nil)
		require.ErrorIs(t, err, nic.ErrClosed)
		_, err = n.a.dev.Register(make([]byte, 1), 0, 1)
		require.ErrorIs(t, err, nic.ErrClosed)
		require.ErrorIs(t, n.a.port.PostRecv(&nic.Descriptor{Op: nic.OpRecv}), nic.ErrClosed)
		_, err = n.a.port.PostSend(&nic.Descriptor{})
		require.ErrorIs(t, err, nic.ErrClosed)
		require.ErrorIs(t, n.a.port.Connect("b", nil, 0), nic.ErrClosed)
		require.ErrorIs(t, n.a.port.Close(), nic.ErrClosed)
		require.NoError(t, n.a.dev.Deregister(1))
		n.pass(time.Second)
		assert.Equal(t, before, n.a.mem, "nobody writes to the memory of the dead")
		require.NoError(t, n.a.dev.Close())
		n.w.Crash("nobody")

		n.a = n.open("a", nic.ReliableDelivery)
		n.newPort(n.b, nic.ReliableDelivery)
		n.connect()
	})
}

func TestCrashWhileConnecting(t *testing.T) {
	for crash, err := range map[string]error{"a": nil, "b": nic.ErrUnreachable} {
		for steps := range 8 {
			n := newNet(t, 1, nic.ReliableDelivery, microsecond, Options{})
			require.NoError(t, n.a.port.Connect("b", nil, time.Second))
			for range steps {
				n.world.Step()
				n.poll()
				for _, ev := range n.b.got {
					if ev.Kind == nic.EventConnectRequest {
						_ = n.b.dev.Accept(ev.Conn.Request, n.b.port)
					}
				}
				n.b.got = nil
			}
			connected := len(n.a.got)
			n.w.Crash(crash)
			n.pass(time.Minute)
			switch {
			case crash == "a":
				assert.Len(t, n.a.got, connected, "a crashed device is silent")
			case len(n.a.got) == 1:
				ev := n.a.got[0]
				assert.Equal(t, nic.EventConnectFailed, ev.Kind)
				assert.True(t, strings.Contains(fmt.Sprint(ev.Conn.Err), err.Error()) || strings.Contains(fmt.Sprint(ev.Conn.Err), nic.ErrTimeout.Error()))
			default:
				require.Len(t, n.a.got, 2, "connected, then disconnected")
				assert.Equal(t, nic.EventDisconnected, n.a.got[1].Kind)
			}
		}
	}
}

func TestConnectRequestsAreLostAndRefused(t *testing.T) {
	n := newNet(t, 1, nic.ReliableDelivery, microsecond, Options{ConnectLoss: 0.9})
	n.connect()
	assert.Greater(t, n.world.Now(), time.Millisecond, "it took several attempts")

	n = newNet(t, 1, nic.ReliableDelivery, microsecond, Options{Refuse: 1})
	require.NoError(t, n.a.port.Connect("b", nil, 0))
	var reject *nic.RejectError
	require.ErrorAs(t, n.until(n.a, nic.EventConnectFailed).Conn.Err, &reject)
	require.Error(t, n.a.port.Connect("b", make([]byte, nic.PrivateDataMax+1), 0))
	require.Error(t, n.b.dev.Reject(1, make([]byte, nic.RejectReasonMax+1)))
	require.Error(t, n.b.dev.Reject(1, nil), "no such request")
}

// TestDisconnectAfterAFailureFlushes: an owner that gives up an attempt cannot know
// that it has already failed, and must get the receives back all the same.
func TestDisconnectAfterAFailureFlushes(t *testing.T) {
	n := newNet(t, 1, nic.ReliableDelivery, microsecond, Options{})
	n.a.port.Disconnect()
	n.poll()
	require.Empty(t, n.a.got, "an idle port without receives has nothing to say")
	d := n.recv(n.a, n.a.seg(0, 8))
	require.NoError(t, n.a.port.Connect("nobody", nil, 0))
	n.world.RunFor(time.Second)
	n.a.port.Disconnect()
	n.a.port.Disconnect()
	n.poll()
	require.Len(t, n.a.got, 3)
	assert.Equal(t, nic.EventConnectFailed, n.a.got[0].Kind)
	assert.Same(t, d, n.a.got[1].Desc)
	assert.Equal(t, nic.StatusFlushed, d.Status)
	assert.Equal(t, nic.EventDisconnected, n.a.got[2].Kind)
	require.NoError(t, n.a.got[2].Conn.Err)
}

func TestFailedSendsBreakTheConnection(t *testing.T) {
	n := newNet(t, 1, nic.ReliableDelivery, microsecond, Options{FailSend: 1})
	n.connect()
	d := n.send(n.a, &nic.Descriptor{Segments: []nic.Segment{n.a.seg(0, 1)}})
	n.until(n.a, nic.EventDisconnected)
	assert.Equal(t, nic.StatusTransportError, d.Status)
	n.until(n.b, nic.EventDisconnected)
}

func TestDeregisteredReceive(t *testing.T) {
	n := newNet(t, 1, nic.ReliableDelivery, microsecond, Options{})
	n.connect()
	d := n.recv(n.b, n.b.seg(0, 8))
	require.NoError(t, n.b.dev.Deregister(n.b.h))
	n.a.mem[0] = 9
	n.send(n.a, &nic.Descriptor{Segments: []nic.Segment{n.a.seg(0, 8)}})
	n.until(n.b, nic.EventRecv)
	assert.Equal(t, nic.StatusProtectionError, d.Status)
	assert.Zero(t, n.b.mem[0], "withdrawn memory is not written")
	require.Error(t, n.b.port.PostRecv(d))
}

func TestLoansArePoisonedWhenGivenBack(t *testing.T) {
	caps := DefaultCaps()
	caps.InlineBytesMax = 0
	n := newNet(t, 1, nic.ReliableDelivery, microsecond, Options{Caps: caps})
	n.connect()
	d := n.recv(n.b)
	d.Flags = nic.FlagLoan
	n.a.mem[0] = 5
	n.send(n.a, &nic.Descriptor{Segments: []nic.Segment{n.a.seg(0, 8)}})
	n.until(n.b, nic.EventRecv)
	loan := d.Data
	require.Equal(t, byte(5), loan[0])
	require.NoError(t, n.b.port.PostRecv(d))
	assert.Equal(t, byte(loanPoison), loan[0])
	n.send(n.a, &nic.Descriptor{Segments: []nic.Segment{n.a.seg(0, 8)}})
	n.until(n.b, nic.EventRecv)
	loan = d.Data
	require.Error(t, n.b.port.Close(), "connected")
	n.b.port.Disconnect()
	n.until(n.b, nic.EventDisconnected)
	require.NoError(t, n.b.port.Close())
	assert.Equal(t, byte(loanPoison), loan[0])
}

// TestLentMemoryChanges: lent memory is right when Poll reports it, and changes
// with any further call.
func TestLentMemoryChanges(t *testing.T) {
	sim.Run(t, func(t *testing.T, seed uint64) {
		caps := DefaultCaps()
		caps.InlineBytesMax = 8
		n := newNet(t, seed, nic.ReliableDelivery, microsecond, Options{Caps: caps, PeerWrites: 1})
		n.connect()
		const count, size = 4, 100
		for range 2 * count {
			require.NoError(t, n.b.port.PostRecv(&nic.Descriptor{Op: nic.OpRecv, Flags: nic.FlagLoan}))
		}
		for i := range count {
			n.a.mem[i*size] = byte(i + 1)
			n.send(n.a, &nic.Descriptor{Segments: []nic.Segment{n.a.seg(i*size, size)}})
			n.send(n.a, &nic.Descriptor{Segments: []nic.Segment{n.a.seg(i*size, 8)}})
		}
		n.world.RunFor(time.Second)
		var out [16]nic.Event
		for i := range count {
			require.Equal(t, 1, n.b.dev.Poll(out[:]), "a loan is reported alone")
			d := out[0].Desc
			require.Equal(t, n.a.mem[i*size:][:size], d.Data)
			_, err := n.b.dev.Register(make([]byte, 1), 0, 1)
			require.NoError(t, err)
			require.NotEqual(t, n.a.mem[i*size:][:size], d.Data)

			require.Equal(t, 1, n.b.dev.Poll(out[:]))
			short := out[0].Desc
			_, err = n.b.dev.Register(make([]byte, 1), 0, 1)
			require.NoError(t, err)
			require.Equal(t, n.a.mem[i*size:][:8], short.Data, "what is not lent stays")

			loan := d.Data
			require.NoError(t, n.b.port.PostRecv(d))
			require.NoError(t, n.b.port.PostRecv(short))
			require.Equal(t, bytes.Repeat([]byte{loanPoison}, size), loan, "written after it was given back")
		}
	})
}

func TestSentIsSent(t *testing.T) {
	// A send that was done within its post arrives even if the sender leaves
	// immediately, also behind sends that were not done.
	sim.Run(t, func(t *testing.T, seed uint64) {
		n := newNet(t, seed, nic.ReliableDelivery, sim.LinkOptions{DelayMean: time.Millisecond}, Options{PostDelayMax: time.Second, DoneNow: 0.3})
		n.connect()
		last := 0
		for i := 1; i <= 10; i++ {
			n.recv(n.b, n.b.seg(i, 1))
			n.a.mem[i] = byte(i)
			d := &nic.Descriptor{Segments: []nic.Segment{n.a.seg(i, 1)}}
			done, err := n.a.port.PostSend(d)
			require.NoError(t, err)
			if done {
				last = i
			}
		}
		n.a.port.Disconnect()
		n.until(n.b, nic.EventDisconnected)
		for i := 1; i <= last; i++ {
			assert.Equal(t, byte(i), n.b.mem[i], "message %d of %d that were sent", i, last)
		}
	})
}

func TestOneSeedOneRun(t *testing.T) {
	run := func(t *testing.T, seed uint64) string {
		rng := sim.New(sim.Options{Seed: seed}).Rand()
		opts, link := RandomOptions(rng), sim.RandomLink(rng)
		opts.Again, opts.FailSend = 0, 0.01
		opts.Caps.RecvDepthMax, opts.Caps.SendDepthMax = 64, 64
		n := newNet(t, seed, nic.ReliableDelivery, link, opts)
		n.connect()
		for i := range 30 {
			n.recv(n.b, n.b.seg(i*8, 8))
			if _, err := n.a.port.PostSend(&nic.Descriptor{Segments: []nic.Segment{n.a.seg(0, 8)}}); err != nil {
				break
			}
		}
		text := ""
		require.NoError(t, n.world.RunUntilIdle(func() {
			n.poll()
			for name, e := range []*end{n.a, n.b} {
				for _, ev := range e.got {
					text += fmt.Sprintf("%v %d kind=%d", n.world.Now(), name, ev.Kind)
					if ev.Desc != nil {
						text += fmt.Sprintf(" %d %d", ev.Desc.Status, ev.Desc.Length)
					}
					text += "\n"
				}
				e.got = nil
			}
		}))
		return text
	}
	sim.Run(t, func(t *testing.T, seed uint64) {
		first := run(t, seed)
		assert.NotEmpty(t, first)
		assert.Equal(t, first, run(t, seed))
	})
}

func TestRandomCapsAreUsable(t *testing.T) {
	rng := sim.New(sim.Options{Seed: 1}).Rand()
	seen := map[string]bool{}
	for range 200 {
		c := RandomCaps(rng)
		assert.GreaterOrEqual(t, c.Reliability, nic.ReliableDelivery)
		assert.LessOrEqual(t, c.InlineBytesMax, nic.InlineMax)
		seen[fmt.Sprint(c.RDMAWrite, c.RDMARead, c.LoansRecv, c.CopiesOnPost)] = true
	}
	assert.Len(t, seen, 16, "every combination turns up")
}

func TestMistakesOfTheOwner(t *testing.T) {
	n := newNet(t, 1, nic.ReliableDelivery, microsecond, Options{})
	_, err := n.a.dev.OpenPort(nic.PortAttrs{Reliability: 3, RecvDepth: 1, SendDepth: 1}, nil)
	require.Error(t, err)
	_, err = n.a.dev.OpenPort(nic.PortAttrs{}, nil)
	require.Error(t, err)
	require.ErrorIs(t, n.a.dev.Deregister(4711), nic.ErrUnknownHandle)
	_, err = n.a.port.PostSend(&nic.Descriptor{})
	require.ErrorIs(t, err, nic.ErrNotConnected)
	require.Error(t, n.a.dev.Accept(1, n.b.port), "a port of another device")
	require.Error(t, n.a.dev.Accept(1, n.a.port), "no such request")
	n.connect()
	require.Error(t, n.a.port.Connect("b", nil, 0))
	require.Error(t, n.a.dev.Accept(1, n.a.port))
	require.Error(t, n.a.port.PostRecv(&nic.Descriptor{Op: nic.OpSend}))
	for _, op := range []nic.Op{nic.OpRecv, 9} {
		_, err = n.a.port.PostSend(&nic.Descriptor{Op: op})
		require.Error(t, err)
	}
	n.a.port.Disconnect()
	n.a.port.Disconnect()
	n.until(n.a, nic.EventDisconnected)
	require.ErrorIs(t, n.a.port.PostRecv(&nic.Descriptor{Op: nic.OpRecv}), nic.ErrNotConnected)
	require.NoError(t, n.a.port.Close())
	require.ErrorIs(t, n.a.port.Close(), nic.ErrClosed)
}
