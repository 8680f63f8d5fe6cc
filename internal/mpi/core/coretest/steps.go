package coretest

import "github.com/viaduct-hpc/viaduct/internal/mpi/core"

// sendSomething adds a send for which no receive is known.
func (g *generator) sendSomething() {
	if comm, ok := g.comm(false); ok {
		g.send(Isend, comm, g.rank(), g.rank(), g.IntN(tagsPlain), g.mode())
	}
}

// owed draws a class for which ok is true.
func (g *generator) owed(ok func(class, count) bool) (class, bool) {
	if len(g.order) == 0 {
		return class{}, false
	}
	from := g.IntN(len(g.order))
	for i := range g.order {
		if c := g.order[(from+i)%len(g.order)]; ok(c, *g.classes[c]) {
			return c, true
		}
	}
	return class{}, false
}

// recvOwed adds a receive whose message was sent.
func (g *generator) recvOwed(v Verb) {
	if c, ok := g.owed(func(_ class, n count) bool { return n.sends > n.recvs }); ok {
		g.recv(v, c)
	}
}

// recvAhead adds a receive whose message may be sent later.
func (g *generator) recvAhead() {
	if comm, ok := g.comm(false); ok {
		g.recv(Irecv, g.classOf(comm, g.rank(), g.rank(), g.IntN(tagsPlain)))
	}
}

// sendOwed adds a send for which its rank waits: its receive was posted, and no other rank's
// message can match that.
func (g *generator) sendOwed() {
	c, ok := g.owed(func(c class, n count) bool { return c.src >= 0 && n.recvs > n.sends })
	if ok {
		tag := c.tag
		if tag < 0 {
			tag = g.IntN(tagsPlain)
		}
		g.send(Send, c.comm, c.src, c.rank, tag, g.mode())
	}
}

// exact draws a communicator with discipline Exact, and returns a new tag.
func (g *generator) exact() (comm, tag int, ok bool) {
	g.fresh++
	comm, ok = g.comm(false)
	return comm, g.fresh, ok && g.p.Comms[comm] == Exact
}

// exchange adds an exchange between two ranks, or of one with itself.
func (g *generator) exchange() {
	comm, tag, ok := g.exact()
	a, b := g.rank(), g.rank()
	if !ok {
		return
	}
	half := func(from, to int) {
		out := g.action(Exchange, comm, to, tag, g.size())
		in := g.action(Irecv, comm, to, tag, g.room())
		in.Persistent, in.Stride = false, 0
		out.Other = &in
		g.add(from, out)
	}
	half(a, b)
	if a != b {
		half(b, a)
	}
}

// ready adds a receive, a message that tells the sender of it, and a send in ready mode.
func (g *generator) ready() {
	comm, tag, ok := g.exact()
	from, to := g.rank(), g.rank()
	if !ok || from == to {
		return
	}
	news := class{from, comm, to, tag}
	g.recv(Irecv, class{to, comm, from, tag})
	g.send(Isend, comm, to, from, tag, core.Standard)
	g.recv(Recv, news)
	g.send(Isend, comm, from, to, tag, core.Ready)
}

// sure tells whether a request will end without later actions.
func (g *generator) sure(p pending) bool {
	n := g.classes[p.class]
	switch {
	case p.free:
		return false
	case p.send:
		return p.class.src >= 0 && n.recvs >= p.index
	}
	return n.sends >= p.index
}

// wait adds a wait of some kind for requests that will end.
func (g *generator) wait() {
	rank := g.rank()
	var sure, all []int
	for _, p := range g.pending[rank] {
		if all = append(all, p.id); g.sure(p) {
			sure = append(sure, p.id)
		}
	}
	if len(sure) == 0 {
		return
	}
	g.Shuffle(len(sure), func(i, j int) { sure[i], sure[j] = sure[j], sure[i] })
	g.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	a := Action{Verb: []Verb{Wait, WaitAll, WaitAny, WaitSome}[g.IntN(4)]}
	switch a.Verb {
	case Wait:
		a.IDs = sure[:1]
	case WaitAll:
		a.IDs = sure[:1+g.IntN(len(sure))]
	default:
		// One request that will end is enough: the first. If it has ended by then, the rank does
		// not wait.
		a.IDs = unique(append(sure[:1:1], all[:g.IntN(len(all)+1)]...))
	}
	g.add(rank, a)
	if a.Verb == Wait || a.Verb == WaitAll {
		g.forget(rank, a.IDs)
	}
}

func unique(ids []int) (out []int) {
	seen := make(map[int]bool)
	for _, id := range ids {
		if !seen[id] {
			seen[id] = true
			out = append(out, id)
		}
	}
	return out
}

// forget removes requests from those for which a rank waits.
func (g *generator) forget(rank int, ids []int) {
	gone := make(map[int]bool)
	for _, id := range ids {
		gone[id] = true
	}
	var left []pending
	for _, p := range g.pending[rank] {
		if !gone[p.id] {
			left = append(left, p)
		}
	}
	g.pending[rank] = left
}

// test adds a test of pending requests.
func (g *generator) test() {
	rank := g.rank()
	all := g.pending[rank]
	if len(all) == 0 {
		return
	}
	a := Action{Verb: Test, IDs: []int{all[g.IntN(len(all))].id}}
	if g.IntN(2) == 0 {
		a = Action{Verb: TestSome}
		for _, p := range all {
			a.IDs = append(a.IDs, p.id)
		}
	}
	g.add(rank, a)
}

// freely adds an action in a free communicator.
func (g *generator) freely() {
	comm, ok := g.comm(true)
	if !ok {
		return
	}
	rank, src, tag := g.rank(), g.rank()-g.IntN(2)*len(g.p.Ranks), g.IntN(tagsPlain+2)
	if src < 0 {
		src = core.AnySource
	}
	if tag >= tagsPlain {
		tag = core.AnyTag
	}
	switch g.IntN(12) {
	case 0, 1, 2, 3:
		a := g.action(Isend, comm, g.rank(), g.IntN(tagsPlain), g.size())
		a.Mode = g.mode()
		g.add(rank, a)
		g.pending[rank] = append(g.pending[rank], pending{id: a.ID, send: true, free: true})
	case 4, 5, 6:
		a := g.action(Irecv, comm, src, tag, g.room())
		g.add(rank, a)
		g.pending[rank] = append(g.pending[rank], pending{id: a.ID, free: true})
	case 7:
		verb := Iprobe
		if g.recalls {
			verb = Improbe
		}
		g.add(rank, g.action(verb, comm, src, tag, g.room()))
	case 8:
		g.add(rank, g.action(Improbe, comm, src, tag, g.room()))
	default:
		g.cancel(rank)
	}
}

// cancel cancels a request of a free communicator.
func (g *generator) cancel(rank int) {
	var free []pending
	for _, p := range g.pending[rank] {
		if p.free && (g.recalls || !p.send) {
			free = append(free, p)
		}
	}
	if len(free) == 0 {
		return
	}
	p := free[g.IntN(len(free))]
	a := Action{Verb: CancelRecv, IDs: []int{p.id}}
	if p.send {
		a.Verb = CancelSend
	}
	g.add(rank, a)
	g.forget(rank, a.IDs)
}

// balance gives every message a receive, and every receive a message.
func (g *generator) balance() {
	for _, c := range g.order {
		n := g.classes[c]
		for n.sends > n.recvs {
			g.recv(Irecv, c)
		}
		for n.recvs > n.sends {
			src, tag := c.src, c.tag
			if src < 0 {
				src = g.rank()
			}
			if tag < 0 {
				tag = g.IntN(tagsPlain)
			}
			g.send(Isend, c.comm, src, c.rank, tag, g.mode())
		}
	}
}
