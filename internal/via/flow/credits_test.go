package flow

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/matchbits"
)

// A kind of packet.
type kind string

const (
	message kind = "message"
	control kind = "control"
	credit  kind = "credit"
)

// packet is a packet under way, with the credits that it returns.
type packet struct {
	kind     kind
	returned int
}

// side is one side of a connection: the packets that it has to send, and those that are on their way to it, in order.
type side struct {
	c                  Credits
	in                 []packet
	messages, controls int
	posted             [2]bool // messages, controls
	away               bool    // its user takes no messages
	left, back         bool    // it went, and came again
	arrived            uint32  // packets
}

// plan is what the two sides of a pair do.
type plan struct {
	granted, messages, controls int
	withholdAll, ignoreWithheld bool // planted errors
}

// pair is both sides. It is a value: copy clones it.
type pair struct {
	plan
	s [2]side
}

func (p *pair) copy() *pair {
	q := *p
	for i := range q.s {
		q.s[i].in = slices.Clone(q.s[i].in)
	}
	return &q
}

// key identifies the state of the pair. All numbers are small.
func (p *pair) key() string {
	var b []byte
	bit := func(is bool) byte {
		if is {
			return 1
		}
		return 0
	}
	for i := range p.s {
		s := &p.s[i]
		b = append(b, byte(s.c.available), byte(s.c.owed()), byte(s.c.withheld), byte(s.messages), byte(s.controls),
			bit(s.posted[0]), bit(s.posted[1]), bit(s.away), bit(s.left), bit(s.back), byte(len(s.in)))
		for _, k := range s.in {
			b = append(b, k.kind[1], byte(k.returned)) // their second letters differ
		}
	}
	return string(b)
}

// send sends a packet. A CREDIT packet returns more than the others can.
func (p *pair) send(i int, k kind) {
	returned := 0
	if k == credit {
		returned = p.s[i].c.TakeAll()
	}
	returned += int(p.s[i].c.Spend())
	p.s[1-i].in = append(p.s[1-i].in, packet{k, returned})
}

// pump sends what a side may send: control packets first, as the method does.
func (p *pair) pump(i int) {
	s := &p.s[i]
	for ; s.controls > 0 && s.c.MayControl(); s.controls-- {
		p.send(i, control)
	}
	for ; s.controls == 0 && s.messages > 0 && s.c.MayMessage(); s.messages-- {
		p.send(i, message)
	}
}

func (p *pair) returnCredits(i int, due bool) {
	if p.ignoreWithheld {
		due = p.s[i].c.owed() >= max(1, p.s[i].c.posted/2)
	}
	if due && p.s[i].c.MayCredit() {
		p.send(i, credit)
	}
}

// deliver takes the next packet. Of a user that takes nothing, a message may still find a receive that was posted before.
func (p *pair) deliver(i int, found bool) error {
	s := &p.s[i]
	k := s.in[0]
	s.in = s.in[1:]
	if s.arrived == s.c.Last() {
		return fmt.Errorf("a packet without a credit")
	}
	s.arrived++
	if !s.c.Give(k.returned) {
		return fmt.Errorf("more credits came back than were given")
	}
	p.returnCredits(i, s.c.Owe(s.away && (k.kind == message && !found || p.withholdAll)))
	p.pump(i)
	return nil
}

// moves are all steps that are possible now.
func (p *pair) moves() (all []func(*pair) error) {
	for i := range p.s {
		s := &p.s[i]
		if len(s.in) > 0 {
			all = append(all, func(p *pair) error { return p.deliver(i, false) })
			if s.away && s.in[0].kind == message {
				all = append(all, func(p *pair) error { return p.deliver(i, true) })
			}
		}
		if !s.posted[0] {
			all = append(all, func(p *pair) error { p.s[i].posted[0], p.s[i].messages = true, p.messages; p.pump(i); return nil })
		}
		if !s.posted[1] {
			all = append(all, func(p *pair) error { p.s[i].posted[1], p.s[i].controls = true, p.controls; p.pump(i); return nil })
		}
		if !s.left {
			all = append(all, func(p *pair) error { p.s[i].left, p.s[i].away = true, true; return nil })
		}
		if s.away && !s.back {
			all = append(all, func(p *pair) error {
				p.s[i].back, p.s[i].away = true, false
				p.returnCredits(i, p.s[i].c.Release())
				return nil
			})
		}
	}
	return all
}

// conserved: the credits of a direction are all somewhere.
func (p *pair) conserved() error {
	for i := range p.s {
		s, o := &p.s[i], &p.s[1-i]
		n := s.c.Available() + len(o.in) + o.c.Owed()
		for _, k := range s.in {
			n += k.returned
		}
		if n != p.granted {
			return fmt.Errorf("%d credits of side %d, granted were %d", n, i, p.granted)
		}
	}
	return nil
}

// stuck returns an error if something waits for ever in a state in which no packet is under way and no user comes or goes any
// more.
func (p *pair) stuck() error {
	for i := range p.s {
		if p.s[i].controls > 0 {
			return fmt.Errorf("control packets of side %d wait for ever", i)
		}
		if p.s[i].messages > 0 && !p.s[1-i].away {
			return fmt.Errorf("messages of side %d wait for ever", i)
		}
	}
	return nil
}

// explore visits every state, in every order of events.
func explore(start *pair) (states int, fault error) {
	seen := map[string]bool{}
	todo := []*pair{start}
	for len(todo) > 0 {
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		key := p.key()
		if seen[key] {
			continue
		}
		seen[key] = true
		if err := p.conserved(); err != nil {
			return len(seen), fmt.Errorf("%w: %v", err, p.s)
		}
		// Users need not do anything more: then nothing may wait that they do not hold up.
		if len(p.s[0].in)+len(p.s[1].in) == 0 && p.s[0].posted == [2]bool{true, true} && p.s[1].posted == p.s[0].posted {
			if err := p.stuck(); err != nil {
				return len(seen), fmt.Errorf("%w: %v", err, p.s)
			}
		}
		for _, move := range p.moves() {
			next := p.copy()
			if err := move(next); err != nil {
				return len(seen), fmt.Errorf("%w: after %v", err, p.s)
			}
			todo = append(todo, next)
		}
	}
	return len(seen), nil
}

func start(l plan) *pair {
	p := &pair{plan: l}
	for i := range p.s {
		p.s[i].c.Reset(l.granted, l.granted)
	}
	return p
}

// least is wire.CreditsMin.
const least = 8

// TestEveryOrder: in every order of events, no credit is lost or invented, every control packet arrives even if messages are not
// taken, and every message is sent if the receiver takes messages.
func TestEveryOrder(t *testing.T) {
	for _, l := range []plan{
		{granted: least, messages: 5, controls: 1},
		{granted: least, messages: 2, controls: 5},
	} {
		states, fault := explore(start(l))
		require.NoError(t, fault, "%+v", l)
		t.Logf("%+v: %d states", l, states)
	}
}

// TestPlantedErrors proves that the search finds what it looks for.
func TestPlantedErrors(t *testing.T) {
	for _, l := range []plan{
		{granted: least, messages: 5, controls: 6, withholdAll: true},
		{granted: least, messages: 5, controls: 6, ignoreWithheld: true},
		{granted: least - 2, messages: 3, controls: 1}, // too few: half of them are never owed
	} {
		_, fault := explore(start(l))
		require.Error(t, fault, "%+v", l)
		t.Log(fault)
	}
}

// TestHandshake: a connection begins with few credits, and gets those that the peer posted.
func TestHandshake(t *testing.T) {
	var c Credits
	c.Reset(8, 64)
	c.Spend()
	c.Extend(64)
	require.Equal(t, 63, c.Available())
	require.True(t, c.Give(1))
	require.False(t, c.Give(1), "more than it ever had")
}

// TestCreditsTravel: a packet returns as many as its bits can carry, and what could not be sent is owed again.
func TestCreditsTravel(t *testing.T) {
	var c Credits
	c.Reset(64, 64)
	for range 20 {
		c.Owe(false)
	}
	require.EqualValues(t, matchbits.CreditsMax, c.Spend())
	require.Equal(t, 5, c.Owed())
	require.Equal(t, 63, c.Available())
	c.Unspend(matchbits.CreditsMax)
	require.Equal(t, 64, c.Available())
	require.Equal(t, 20, c.TakeAll())
	require.Zero(t, c.Owed())
	c.PutBack(20)
	require.Equal(t, 20, c.Owed())
}

func TestBrokenInvariants(t *testing.T) {
	var c Credits
	c.Reset(1, 1)
	c.Spend()
	require.PanicsWithValue(t, "flow: spent a credit that was not there", func() { c.Spend() })
	c.Owe(false)
	require.PanicsWithValue(t, "flow: owes more credits than it posted receives", func() { c.Owe(true) })
}
