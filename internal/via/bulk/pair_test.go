package bulk_test

import (
	"fmt"
	"slices"

	"github.com/viaduct-hpc/viaduct/internal/via/bulk"
)

// A pair is both sides of one message, the packets between them, and the RDMA under way. It is a value: copy clones it.
type pair struct {
	send, recv side
	opts       options
	bytes      []int // how often each byte was moved

	log func(format string, args ...any) // nil: none
	bug func(act bulk.Actions) bulk.Actions
}

// options are what the two endpoints can do.
type options struct {
	size  int
	mine  int  // what the receiver reads itself
	write bool // the sender can write by RDMA
	short bool // the receive is too short
}

// side is one side: its transfer, the packets that come to it in order, and its descriptors that the NIC has.
type side struct {
	name   string
	t      bulk.Transfer
	in     []packet
	rdma   []span
	ended  int  // End actions
	failed bool // the owner gave up
}

type span struct{ from, to int }

type packet struct {
	kind     string // RTS, CTS, DATA, FIN
	from, to int
	ok       bool // CTS: by RDMA; FIN: moved
}

func (p packet) String() string {
	switch {
	case p.kind == "FIN" && !p.ok:
		return "FIN, too short"
	case p.kind == "FIN":
		return "FIN"
	case p.kind == "CTS" && p.ok:
		return fmt.Sprintf("CTS [%d, %d), memory open", p.from, p.to)
	}
	return fmt.Sprintf("%s [%d, %d)", p.kind, p.from, p.to)
}

func newPair(o options) *pair {
	return &pair{send: side{name: "sender"}, recv: side{name: "receiver"}, opts: o, bytes: make([]int, o.size)}
}

func (p *pair) copy() *pair {
	q := *p
	for _, s := range []*side{&q.send, &q.recv} {
		s.in, s.rdma = slices.Clone(s.in), slices.Clone(s.rdma)
	}
	q.bytes = slices.Clone(p.bytes)
	return &q
}

// key identifies the state of the pair.
func (p *pair) key() string { return fmt.Sprint(p.send, p.recv, p.bytes) }

func (p *pair) printf(format string, args ...any) {
	if p.log != nil {
		p.log(format, args...)
	}
}

func (p *pair) peer(s *side) *side {
	if s == &p.send {
		return &p.recv
	}
	return &p.send
}

func (p *pair) post(s *side, k packet) {
	p.printf("    %s sends %v", s.name, k)
	to := p.peer(s)
	to.in = append(to.in, k)
}

// announce posts the send.
func (p *pair) announce() {
	p.send.t.Announce(p.opts.size)
	p.printf("sender announces: %v", &p.send.t)
	p.post(&p.send, packet{kind: "RTS", to: p.opts.size})
}

// carryOut does what a side's transfer asks for.
func (p *pair) carryOut(s *side, act bulk.Actions) {
	if p.bug != nil {
		act = p.bug(act)
	}
	if act&bulk.SendCTS != 0 {
		if p.opts.write {
			s.t.Opened()
		}
		p.post(s, packet{"CTS", s.t.Mine(), s.t.Size(), p.opts.write})
	}
	if act&bulk.SendFin != 0 {
		p.post(s, packet{kind: "FIN", ok: true})
	}
	if act&bulk.End != 0 {
		s.ended++
		p.printf("    %s is done", s.name)
	}
}

// deliver gives a side its next packet.
func (p *pair) deliver(s *side) error {
	k := s.in[0]
	s.in = s.in[1:]
	var act bulk.Actions
	var err error
	switch k.kind {
	case "RTS":
		if p.opts.short {
			p.printf("receiver gets %v: too short", k)
			p.post(s, packet{kind: "FIN"})
			return nil
		}
		act = s.t.Accept(p.opts.size, p.opts.mine)
	case "CTS":
		act, err = s.t.Ask(k.to, k.from, k.ok)
	case "DATA":
		var take bool
		if take, err = s.t.Arrive(k.from, k.to-k.from); take {
			p.mark(span{k.from, k.to})
		}
	case "FIN":
		act, err = s.t.Finish(k.ok)
	}
	p.printf("%s gets %v: %v", s.name, k, &s.t)
	p.carryOut(s, act)
	return err
}

// give lets a side give n more bytes to the NIC. DATA packets are copied at once; RDMA is under way until complete.
func (p *pair) give(s *side, n int) {
	from, _ := s.t.Rest()
	s.t.Gave(n)
	if s.t.Mode() == bulk.Data {
		p.post(s, packet{kind: "DATA", from: from, to: from + n})
		act := s.t.Moved(n)
		p.printf("%s sent %d bytes: %v", s.name, n, &s.t)
		p.carryOut(s, act)
		return
	}
	s.rdma = append(s.rdma, span{from, from + n})
	p.printf("%s gave %d bytes to the NIC: %v", s.name, n, &s.t)
}

// complete ends the oldest RDMA of a side.
func (p *pair) complete(s *side) {
	d := s.rdma[0]
	s.rdma = s.rdma[1:]
	if !s.failed {
		p.mark(d)
	}
	act := s.t.Moved(d.to - d.from)
	p.printf("%s moved [%d, %d): %v", s.name, d.from, d.to, &s.t)
	p.carryOut(s, act)
}

func (p *pair) mark(d span) {
	for i := d.from; i < d.to; i++ {
		p.bytes[i]++
	}
}

// fail ends one side, as a lost connection does.
func (p *pair) fail(s *side) {
	s.failed = true
	s.t.Fail()
	p.printf("%s fails: %v", s.name, &s.t)
}

// moves are all steps that are possible now.
func (p *pair) moves() (all []func(*pair) error) {
	for _, recv := range []bool{false, true} {
		of := func(p *pair) *side {
			if recv {
				return &p.recv
			}
			return &p.send
		}
		s := of(p)
		if len(s.in) > 0 {
			all = append(all, func(p *pair) error { return p.deliver(of(p)) })
		}
		if from, to := s.t.Rest(); from < to {
			all = append(all, func(p *pair) error { p.give(of(p), 1); return nil })
			if n := to - from; n > 1 {
				all = append(all, func(p *pair) error { p.give(of(p), n); return nil })
			}
		}
		if len(s.rdma) > 0 {
			all = append(all, func(p *pair) error { p.complete(of(p)); return nil })
		}
	}
	return all
}
