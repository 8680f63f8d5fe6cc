package collsim

import (
	"fmt"
	"time"

	"github.com/viaduct-hpc/viaduct/mpi/coll"
)

// A Result is what an operation took.
type Result struct {
	Time     time.Duration // from the start, which is the same for all ranks, to the last rank's end
	Messages int
	Bytes    int
	Between  int // of the messages, those between hosts
}

// Run simulates a job on a network. The same job always has the same result.
func Run(n Network, j Job) (Result, error) {
	if err := n.check(); err != nil {
		return Result{}, err
	}
	of := make([]int, max(0, j.Ranks))
	for r := range of {
		of[r] = r / n.RanksPerHost
	}
	hosts, err := coll.NewHosts(of)
	if err != nil {
		return Result{}, err
	}
	s, err := record(j, hosts)
	if err != nil {
		return Result{}, err
	}
	w := &world{
		Network: n, schedules: s,
		ranks: make([]rank, j.Ranks), out: make([]picos, hosts.Size()), in: make([]picos, hosts.Size()),
	}
	return w.run()
}

// A world is a simulation.
type world struct {
	Network
	*schedules
	ranks   []rank
	out, in []picos // when the link of each host is free
	queue   queue
	ready   []int32 // ranks that can go on
	result  Result
}

// A rank is where a rank is in its schedule. It may be ahead of the events: it runs until
// it needs a message that is not known yet.
type rank struct {
	now    picos
	left   picos // when the last of its sends left, of those that have
	next   int32 // step
	under  int32 // sends that have not left
	phase  phase // of the step
	queued bool  // in world.ready
	inbox  []arrival
}

// A phase is the next part of a step.
type phase uint8

const (
	sending   phase = iota
	receiving       // until the message is there
	leaving         // until all sends have left
)

// An arrival is a message that its receiver has not yet received.
type arrival struct {
	at   picos
	from int32
}

func (w *world) run() (Result, error) {
	for r := len(w.ranks) - 1; r >= 0; r-- { // ready is a stack: rank 0 goes first
		w.wake(int32(r))
	}
	for {
		for len(w.ready) > 0 {
			r := w.ready[len(w.ready)-1]
			w.ready = w.ready[:len(w.ready)-1]
			w.ranks[r].queued = false
			w.goOn(int(r))
		}
		e, more := w.queue.next()
		if !more {
			break
		}
		w.happen(e)
	}
	var end picos
	for r := range w.ranks {
		p := &w.ranks[r]
		if int(p.next) < len(w.schedules.of(r)) {
			return w.result, fmt.Errorf("collsim: rank %d waits for ever in step %d: %+v", r, p.next, w.schedules.of(r)[p.next])
		}
		if len(p.inbox) > 0 {
			return w.result, fmt.Errorf("collsim: rank %d ended without receiving %d messages", r, len(p.inbox))
		}
		end = max(end, p.now)
	}
	w.result.Time = end.duration()
	return w.result, nil
}

func (w *world) wake(r int32) {
	if p := &w.ranks[r]; !p.queued {
		p.queued = true
		w.ready = append(w.ready, r)
	}
}

// goOn runs a rank until it has to wait, or ends.
func (w *world) goOn(r int) {
	p, steps, shift := &w.ranks[r], w.schedules.of(r), w.schedules.shift(r)
	for ; int(p.next) < len(steps); p.next++ {
		st := &steps[p.next]
		if p.phase == sending {
			if st.to != none {
				w.send(r, w.schedules.at(int(st.to), shift), st.bytes)
			}
			p.phase = receiving
		}
		if p.phase == receiving {
			if st.from != none && !w.receive(r, int32(w.schedules.at(int(st.from), shift))) {
				return
			}
			p.phase = leaving
		}
		if st.kind == send || st.kind == exchange || st.kind == waitSends {
			if p.under > 0 {
				return
			}
			p.now = max(p.now, p.left)
		}
		p.phase = sending
	}
}

// send begins a send. Within a host nothing is shared, so the message arrives at a known
// time.
func (w *world) send(from, to int, bytes int32) {
	p := &w.ranks[from]
	w.result.Messages++
	w.result.Bytes += int(bytes)
	link := w.link(from, to)
	p.now += inPicos(link.Overhead)
	if link == &w.Within {
		p.now += on(link.Bandwidth, int(bytes))
		w.arrive(int32(from), int32(to), p.now+inPicos(link.Latency))
		return
	}
	w.result.Between++
	p.under++
	w.queue.add(event{at: p.now, out: true, from: int32(from), to: int32(to), bytes: bytes})
}

func (w *world) host(rank int) int { return rank / w.RanksPerHost }

func (w *world) link(from, to int) *Link {
	if w.host(from) == w.host(to) {
		return &w.Within
	}
	return &w.Between
}

func (w *world) happen(e event) {
	if e.out {
		start, end := w.take(w.out, w.host(int(e.from)), e)
		p := &w.ranks[e.from]
		p.under--
		p.left = max(p.left, end)
		w.wake(e.from)
		e.at, e.out = start+inPicos(w.Between.Latency), false
		w.queue.add(e)
		return
	}
	_, end := w.take(w.in, w.host(int(e.to)), e)
	w.arrive(e.from, e.to, end)
}

// take gives a link to a message as soon as it is free.
func (w *world) take(free []picos, host int, e event) (start, end picos) {
	start = max(e.at, free[host])
	free[host] = start + on(w.Between.Bandwidth, int(e.bytes)+w.HeaderBytes)
	return start, free[host]
}

func (w *world) arrive(from, to int32, at picos) {
	p := &w.ranks[to]
	p.inbox = append(p.inbox, arrival{at: at, from: from})
	w.wake(to)
}

// receive takes the oldest message from a rank, if there is one.
func (w *world) receive(r int, from int32) bool {
	p := &w.ranks[r]
	for i, a := range p.inbox {
		if a.from == from {
			p.inbox = append(p.inbox[:i], p.inbox[i+1:]...)
			p.now = max(p.now, a.at) + inPicos(w.link(int(from), r).Overhead)
			return true
		}
	}
	return false
}
