package fault

import (
	"errors"
	"math/rand/v2"
)

// ErrInjected is wrapped by every error that this package makes up.
var ErrInjected = errors.New("fault: injected on purpose")

// Point is a moment at which a fault can be injected.
type Point uint8

const (
	OnOpen      Point = iota // Provider.Open
	OnOpenPort               // Device.OpenPort
	OnRegister               // Device.Register
	OnConnect                // Port.Connect
	OnAccept                 // Device.Accept
	OnPostSend               // Port.PostSend
	OnPostRecv               // Port.PostRecv
	OnSendEvent              // a send or RDMA that succeeded comes back
	OnRecvEvent              // a receive that succeeded comes back
	points
)

// Kind is a kind of fault.
type Kind uint8

const (
	// None: nothing.
	None Kind = iota
	// Again: a post is refused with nic.ErrAgain.
	Again
	// Fail: a call returns an error; a completion becomes
	// nic.StatusTransportError, and the connection breaks.
	Fail
	// Delay: an event, and all later ones of the same port, is held back for some
	// polls.
	Delay
	// Break: the connection breaks.
	Break
	// Refuse: a connect request is refused.
	Refuse
	// Drop: a message on an unreliable port vanishes.
	Drop
)

// possible lists the kinds that make sense at each point.
var possible = [points][]Kind{
	OnOpen:      {Fail},
	OnOpenPort:  {Fail},
	OnRegister:  {Fail},
	OnConnect:   {Fail, Refuse},
	OnAccept:    {Fail},
	OnPostSend:  {Again, Fail, Break, Drop},
	OnPostRecv:  {Again, Break},
	OnSendEvent: {Fail, Delay, Break},
	OnRecvEvent: {Fail, Delay, Break, Drop},
}

// A Rule injects one fault.
type Rule struct {
	At Point
	// Nth counts the moments of this kind on one device, from 1; 0 means every
	// one.
	Nth  uint64
	Kind Kind
}

// Chances are probabilities, drawn at every moment where the kind is possible.
type Chances struct {
	// Again is the probability that a post is refused.
	Again float64
	// FailCall is the probability that an OpenPort, Register, Connect or Accept
	// fails.
	FailCall float64
	// FailCompletion is the probability that a completion turns into an error.
	FailCompletion float64
	// Delay is the probability that an event is held back.
	Delay float64
	// Break is the probability that a connection breaks at a post or a
	// completion.
	Break float64
	// Refuse is the probability that a connect request is refused.
	Refuse float64
	// Drop is the probability that a message on an unreliable port vanishes.
	Drop float64
}

// DelayPollsDefault is used when Options.DelayPolls is 0.
const DelayPollsDefault = 8

// Options select the faults. The zero value injects none.
type Options struct {
	// Script is followed first; the first rule that matches is used.
	Script []Rule
	// Chances are drawn from Rand if no rule matches.
	Chances Chances
	// Rand is the only generator; nil disables Chances. Devices of one provider
	// share it, so they must have one owner.
	Rand *rand.Rand
	// DelayPolls is the largest number of polls for which an event is held
	// back; 0 means DelayPollsDefault.
	DelayPolls int
}

// A plan decides for one device.
type plan struct {
	opts  *Options
	count [points]uint64
	// Injected counts the faults, by kind.
	injected [Drop + 1]uint64
}

// at decides which fault happens at one moment.
func (p *plan) at(point Point, unreliable bool) Kind {
	p.count[point]++
	kind := p.scripted(point)
	if kind == None && p.opts.Rand != nil {
		kind = p.drawn(point, unreliable)
	}
	if kind == Drop && !unreliable {
		kind = None
	}
	p.injected[kind]++
	return kind
}

func (p *plan) scripted(point Point) Kind {
	for _, r := range p.opts.Script {
		if r.At == point && (r.Nth == 0 || r.Nth == p.count[point]) {
			return r.Kind
		}
	}
	return None
}

func (p *plan) drawn(point Point, unreliable bool) Kind {
	for _, kind := range possible[point] {
		if kind == Drop && !unreliable {
			continue
		}
		if c := p.opts.Chances.of(point, kind); c > 0 && p.opts.Rand.Float64() < c {
			return kind
		}
	}
	return None
}

func (c Chances) of(point Point, kind Kind) float64 {
	switch kind {
	case Again:
		return c.Again
	case Delay:
		return c.Delay
	case Break:
		return c.Break
	case Refuse:
		return c.Refuse
	case Drop:
		return c.Drop
	case Fail:
		switch point {
		case OnOpenPort, OnRegister, OnConnect, OnAccept:
			return c.FailCall
		case OnSendEvent, OnRecvEvent:
			return c.FailCompletion
		}
	}
	return 0
}

// delay draws for how many polls an event is held back.
func (p *plan) delay() int {
	most := p.opts.DelayPolls
	if most == 0 {
		most = DelayPollsDefault
	}
	if p.opts.Rand == nil {
		return most
	}
	return 1 + p.opts.Rand.IntN(most)
}
