package vipl_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/nic/fault"
	simnic "github.com/viaduct-hpc/viaduct/internal/nic/sim"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
	"github.com/viaduct-hpc/viaduct/methods/via/vipl"
)

// TestSoak lets two NICs connect, exchange numbered messages and connect again
// while links are cut, connections break, sides leave and NICs crash at random. It
// checks, at every step:
//
//  1. Every accepted descriptor comes back once, and before the connection's end is
//     reported.
//  2. Within one connection messages arrive in order, without a gap, unchanged.
//  3. A completed receive buffer does not change until it is posted again.
//  4. When the faults stop, messages flow again (or the world runs out of time).
func TestSoak(t *testing.T) {
	sim.Run(t, func(t *testing.T, seed uint64) {
		k := newSoak(t, seed)
		for range 4000 {
			k.fault()
			k.advance()
		}
		k.world.HealAll()
		target := k.delivered + 50
		defer func() {
			if t.Failed() {
				for _, s := range k.sides {
					t.Logf("%+v up=%v sent=%d flying=%d ready=%d from=%d want=%d", s.vi.Query(), s.up, s.sent, s.flying, s.ready, s.from, s.want)
				}
			}
		}()
		require.NoError(t, k.world.RunUntil(func() bool {
			k.advance()
			return k.delivered >= target
		}), "messages flow again")
		require.NoError(t, k.buffers.Check())
	})
}

const (
	soakSlots = 6
	soakBytes = 512
)

type soak struct {
	*testing.T
	world     *sim.World
	w         *simnic.World
	provider  nic.Provider // w, or w with faults
	rng       *rand.Rand
	sides     [2]*soakSide
	buffers   sim.Buffers
	epoch     uint64 // numbers connections, for the messages in them
	opened    int
	delivered int
}

type soakSide struct {
	k      *soak
	index  int
	serial int // tells the NICs that had the same name apart
	n      *vipl.NIC
	cq     *vipl.CQ
	vi     *vipl.VI
	mem    *vipl.Memory
	out    [soakSlots]soakSlot // sends
	in     [soakSlots]soakSlot // receives

	up           bool   // connected
	epoch        uint64 // of the messages that it sends
	sent, flying uint64 // in this connection; flying: not arrived
	ready        uint64 // receives posted
	from         uint64 // epoch of the messages that arrive; 0: none did
	want         uint64 // number of the next one
}

// A soakSlot is a descriptor and its buffer.
type soakSlot struct {
	d      vipl.Descriptor
	mem    []byte
	posted bool
	held   string // its name among the buffers that must not change
}

func newSoak(t *testing.T, seed uint64) *soak {
	world := sim.New(sim.Options{Seed: seed, StepsMax: 200_000})
	opts := simnic.RandomOptions(world.Rand())
	opts.FailSend = 0.002
	k := &soak{T: t, world: world, w: simnic.New(world, opts), rng: rand.New(rand.NewPCG(seed, 4))}
	k.provider = k.w
	if seed%2 == 0 {
		k.provider = fault.Wrap(k.w, fault.Options{Rand: k.rng, Chances: fault.Chances{
			Again: 0.1, FailCall: 0.1, FailCompletion: 0.002, Delay: 0.1, Break: 0.002, Refuse: 0.1,
		}})
	}
	link := sim.RandomLink(world.Rand())
	link.Capacity, link.Loss = 0, min(link.Loss, 0.1)
	world.SetLink("a", "b", link)
	world.SetLink("b", "a", link)
	for i := range k.sides {
		k.sides[i] = k.open(i)
	}
	return k
}

func (k *soak) open(i int) *soakSide {
	k.opened++
	s := &soakSide{k: k, index: i, serial: k.opened}
	var err error
	s.n, err = vipl.OpenNIC(k.provider, vipl.NICConfig{Listen: "ab"[i : i+1], Clock: k.w.Clock, Events: true, Log: slog.New(slog.DiscardHandler)})
	require.NoError(k, err)
	tag, err := s.n.CreatePtag()
	require.NoError(k, err)
	s.cq, err = s.n.CreateCQ(5) // too small on purpose
	require.NoError(k, err)
	k.retry(func() error {
		s.vi, err = s.n.CreateVI(vipl.VIAttributes{Reliability: vipl.ReliableDelivery, Tag: tag, RecvDepth: soakSlots, SendDepth: soakSlots}, s.cq, s.cq)
		return err
	})
	k.retry(func() error {
		s.mem, err = s.n.RegisterMem(make([]byte, 2*soakSlots*soakBytes), vipl.MemAttributes{Tag: tag})
		return err
	})
	for j := range soakSlots {
		s.out[j].mem = s.mem.Data[j*soakBytes:][:soakBytes]
		s.in[j].mem = s.mem.Data[(soakSlots+j)*soakBytes:][:soakBytes]
		s.out[j].d.Cookie, s.in[j].d.Cookie = &s.out[j], &s.in[j]
	}
	return s
}

// retry repeats a call that fails on purpose.
func (k *soak) retry(call func() error) {
	for {
		err := call()
		if !errors.Is(err, fault.ErrInjected) {
			require.NoError(k, err)
			return
		}
	}
}

func (s *soakSide) other() *soakSide { return s.k.sides[1-s.index] }

// fault makes something go wrong, sometimes.
func (k *soak) fault() {
	s := k.sides[k.rng.IntN(2)]
	act := k.rng.IntN(1200)
	switch {
	case act == 0:
		k.w.Cut("a", "b")
	case act <= 20:
		k.w.Heal("a", "b")
	case act == 21:
		k.w.Break("a", "b")
	case act <= 23 && s.vi.State() != vipl.Idle:
		require.NoError(k, s.vi.Disconnect())
	case act == 24:
		k.w.Crash("ab"[s.index : s.index+1])
		require.NoError(k, s.n.Close())
		k.sides[s.index] = k.open(s.index)
	}
}

// advance lets something happen and reacts to it.
func (k *soak) advance() {
	for range 1 + k.rng.IntN(3) {
		k.world.Step()
	}
	for _, s := range k.sides {
		s.poll()
		s.post()
	}
}

func (s *soakSide) poll() {
	var out [4]vipl.Completion
	for _, c := range out[:s.cq.Poll(out[:1+s.k.rng.IntN(4)])] {
		s.completed(c)
	}
	var ev [2]vipl.ConnEvent
	for _, e := range ev[:s.n.PollEvents(ev[:])] {
		s.event(e)
	}
	if st := s.vi.State(); st == vipl.Error {
		require.NoError(s.k, s.vi.Disconnect())
	} else if st == vipl.Idle && s.index == 0 {
		if err := s.vi.ConnectStart(vipl.Address{Host: "b"}, vipl.ConnectOptions{}); err != nil {
			s.expected(err)
		}
	}
}

func (s *soakSide) completed(c vipl.Completion) {
	slot := c.Desc.Cookie.(*soakSlot)
	require.True(s.k, slot.posted, "a descriptor came back twice")
	slot.posted = false
	if c.Queue == vipl.QueueSend {
		return
	}
	s.ready--
	if c.Desc.Status != nic.StatusSuccess {
		return
	}
	s.arrived(slot)
}

func (s *soakSide) arrived(slot *soakSlot) {
	data := slot.mem[:slot.d.Length]
	require.GreaterOrEqual(s.k, len(data), 16)
	epoch, number := binary.LittleEndian.Uint64(data), binary.LittleEndian.Uint64(data[8:])
	if s.from == 0 {
		s.from = epoch
	}
	require.Equal(s.k, s.from, epoch, "a message of another connection")
	require.Equal(s.k, s.want, number, "lost, doubled or out of order")
	s.want++
	for i, b := range data[16:] {
		if b != byte(int(number)+i) {
			require.FailNow(s.k, "corrupted", "byte %d of message %d", i, number)
		}
	}
	if o := s.other(); o.epoch == epoch && o.flying > 0 {
		o.flying--
	}
	s.k.delivered++
	slot.held = fmt.Sprintf("receive slot %p of nic %d", slot, s.serial)
	s.k.buffers.Hold(slot.held, slot.mem)
}

func (s *soakSide) event(e vipl.ConnEvent) {
	switch e.Kind {
	case vipl.EventRequest:
		if s.vi.State() != vipl.Idle || e.Request.Accept(s.vi) != nil {
			_ = e.Request.Reject([]byte("busy")) // whoever asked may be gone
		}
	case vipl.EventConnected:
		s.k.epoch++
		s.up, s.epoch, s.sent, s.flying = true, s.k.epoch, 0, 0
	case vipl.EventDisconnected, vipl.EventConnectFailed:
		s.up = false
		if e.Kind == vipl.EventDisconnected || s.vi.Query().RecvQueueEmpty {
			for i := range soakSlots {
				require.False(s.k, s.out[i].posted || s.in[i].posted, "a descriptor did not come back")
			}
			s.from, s.want, s.ready = 0, 0, 0
		}
	}
}

// post posts every free receive, and sends where the other side can receive.
func (s *soakSide) post() {
	for i := range s.in {
		slot := &s.in[i]
		if slot.posted {
			continue
		}
		if slot.held != "" {
			require.NoError(s.k, s.k.buffers.Release(slot.held))
			slot.held = ""
		}
		err := s.vi.PostRecv(vipl.FillRecv(&slot.d, vipl.Segment{Data: slot.mem, Handle: s.mem.Handle}))
		if err == nil {
			slot.posted = true
			s.ready++
		} else {
			s.expected(err)
		}
	}
	for i := range s.out {
		if slot := &s.out[i]; s.up && !slot.posted && s.flying < s.other().ready && s.other().up {
			s.send(slot)
		}
	}
}

func (s *soakSide) send(slot *soakSlot) {
	data := slot.mem[:16+s.k.rng.IntN(soakBytes-16)]
	binary.LittleEndian.PutUint64(data, s.epoch)
	binary.LittleEndian.PutUint64(data[8:], s.sent)
	for i := range data[16:] {
		data[16+i] = byte(int(s.sent) + i)
	}
	done, err := s.vi.PostSend(vipl.FillSend(&slot.d, vipl.Segment{Data: data, Handle: s.mem.Handle}))
	if err != nil {
		s.expected(err)
		return
	}
	s.sent++
	s.flying++
	slot.posted = !done
	if done {
		clear(data) // ours again at once
	}
}

// expected fails for every error that a post must not return here.
func (s *soakSide) expected(err error) {
	for _, fine := range []error{vipl.ErrAgain, vipl.ErrInvalidState, nic.ErrNotConnected, fault.ErrInjected} {
		if errors.Is(err, fine) {
			return
		}
	}
	require.NoError(s.k, err)
}
