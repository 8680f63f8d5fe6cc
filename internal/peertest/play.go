package peertest

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/viaduct-hpc/viaduct/peer"
)

// Play plays a transcript in a new world and returns it with the results filled in. A
// transcript consists of comments (lines with #) and of blocks: commands, one a line; a line
// "----"; their results; an empty line. Results in the input are ignored.
//
//	config connect-timeout=1s ...   durations of package peer's Config; before the first node
//	node a session=1 [hidden]       a process named a; hidden: nobody can connect to it
//	post-send a b                   a user on a posts a send to b
//	post-recv a b                   a user on a posts a receive from b
//	cancel 3                        the user cancels operation 3
//	deliver [4 | BYE | all]         what is under way arrives: the oldest, number 4, the
//	                                oldest whose line has these words in it, all of it
//	drop ... / dup ...              likewise, something gets lost / comes twice
//	tick [20ms]                     time passes, to the next deadline or for so long
//	stop a 60s                      time passes, and nobody but a looks at the clock, once
//	run 1s                          as tick, and what is under way arrives in order
//	break a b                       the link that a has to b breaks
//	kill a / restart a session=2    a's process ends / and starts again
//	version a 2                     a speaks protocol version 2 from now on
//	drop-addr a b / garbage a b     a's user drops b's address / b sent a what is not allowed
//	close a b                       a closes
//	status                          what everybody has, and what is under way
func Play(transcript string) string {
	w := NewWorld(peer.DefaultConfig())
	w.Config.Local = peer.Hello{Version: 1, Credits: 16, EagerBytes: 8192}
	var out, happened strings.Builder
	w.Log = func(line string) { happened.WriteString(line + "\n") }
	skipping := false
	var block []string
	for line := range strings.Lines(transcript) {
		line = strings.TrimRight(line, "\n")
		switch {
		case skipping:
			skipping = line != ""
			if !skipping {
				out.WriteString("\n")
			}
		case line == "----":
			out.WriteString("----\n")
			for _, command := range block {
				w.play(command)
				if len(block) > 1 && happened.Len() > 0 {
					out.WriteString("> " + command + "\n")
				}
				out.WriteString(happened.String())
				happened.Reset()
			}
			block, skipping = nil, true
		default:
			out.WriteString(line + "\n")
			if line != "" && !strings.HasPrefix(line, "#") {
				block = append(block, line)
			}
		}
	}
	if len(block) > 0 {
		out.WriteString("error: commands without ---- below them\n")
	}
	return out.String()
}

// play carries out one command.
func (w *World) play(command string) {
	c := &words{world: w, left: strings.Fields(command)}
	before := w.Now
	name := c.next()
	if run := commands[name]; run != nil {
		run(w, c)
	} else {
		c.fail("unknown command %q", name)
	}
	if len(c.left) > 0 {
		c.fail("too many words: %q", c.left)
	}
	if c.err != nil {
		w.logf("error: %v", c.err)
	}
	if w.Now != before {
		w.logf("now %v", w.Now)
	}
}

var commands map[string]func(*World, *words)

func init() {
	commands = map[string]func(*World, *words){
		"config":    (*World).playConfig,
		"node":      (*World).playNode,
		"post-send": func(w *World, c *words) { c.pair(func(n *Node, to string) { w.PostSend(n, to) }) },
		"post-recv": func(w *World, c *words) { c.pair(func(n *Node, from string) { w.PostRecv(n, from) }) },
		"cancel":    (*World).playCancel,
		"deliver":   (*World).playDeliver,
		"drop":      func(w *World, c *words) { c.item(w.Drop) },
		"dup":       func(w *World, c *words) { c.item(func(it *Item) { w.Dup(it) }) },
		"tick":      (*World).playTick,
		"stop":      (*World).playStop,
		"run":       func(w *World, c *words) { w.Run(w.Now + c.duration(c.next())) },
		"break":     (*World).playBreak,
		"kill":      func(w *World, c *words) { c.node(w.Kill) },
		"restart":   func(w *World, c *words) { c.node(func(n *Node) { w.Restart(n, c.session()) }) },
		"version":   func(w *World, c *words) { c.node(func(n *Node) { n.SetVersion(uint16(c.number(c.next()))) }) },
		"drop-addr": func(w *World, c *words) { w.playDisconnect(c, peer.ReasonDropped) },
		"garbage":   func(w *World, c *words) { w.playDisconnect(c, peer.ReasonProtocol) },
		"close":     func(w *World, c *words) { w.playDisconnect(c, peer.ReasonClosing) },
		"status":    func(w *World, _ *words) { w.status() },
	}
}

func (w *World) playConfig(c *words) {
	durations := map[string]*time.Duration{
		"connect-timeout": &w.Config.ConnectTimeout, "attempt-timeout": &w.Config.AttemptTimeout,
		"resend": &w.Config.ResendAfter, "retry-min": &w.Config.RetryMin, "retry-max": &w.Config.RetryMax,
		"linger": &w.Config.LingerAfter, "keep-alive": &w.Config.KeepAliveAfter, "dead": &w.Config.DeadAfter,
	}
	for len(c.left) > 0 {
		name, value, _ := strings.Cut(c.next(), "=")
		switch d := durations[name]; {
		case name == "retry-absent":
			w.Config.RetryAbsent = true
		case d == nil:
			c.fail("no such setting: %q", name)
		default:
			*d = c.duration(value)
		}
	}
}

func (w *World) playNode(c *words) {
	name := c.next()
	n := w.AddNode(name, c.session())
	if len(c.left) > 0 && c.left[0] == "hidden" {
		c.next()
		n.Hidden = true
	}
}

func (w *World) playCancel(c *words) {
	number := c.number(c.next())
	if number < 1 || number > len(w.ops) {
		c.fail("no operation %d", number)
		return
	}
	w.Cancel(w.ops[number-1])
}

func (w *World) playDeliver(c *words) {
	if len(c.left) > 0 && c.left[0] == "all" {
		for c.next(); len(w.items) > 0; {
			w.Deliver(w.items[0])
		}
		return
	}
	c.item(w.Deliver)
}

func (w *World) playTick(c *words) {
	if len(c.left) > 0 {
		w.Advance(w.Now + c.duration(c.next()))
		return
	}
	if p, due := w.nextDue(); p != nil {
		w.Advance(due)
	}
}

func (w *World) playStop(c *words) {
	c.node(func(n *Node) {
		w.Now += c.duration(c.next())
		for _, p := range n.peers {
			w.step(p, peer.Event{Kind: peer.EventTick})
		}
	})
}

func (w *World) playBreak(c *words) {
	c.pair(func(n *Node, to string) {
		e := n.Peer(to).ends[n.Peer(to).m.Link()]
		if e == nil {
			c.fail("%s has no link to %s", n.Name, to)
			return
		}
		w.Break(e.link)
	})
}

func (w *World) playDisconnect(c *words, why peer.Reason) {
	c.pair(func(n *Node, name string) { w.Disconnect(n.Peer(name), why) })
}

// status lists the state of the world.
func (w *World) status() {
	for _, n := range w.nodes {
		if !n.Alive {
			w.logf("%s is dead", n.Name)
		}
		for _, p := range n.peers {
			w.logf("%v: %s", p, p.m.Describe())
			for _, list := range []struct {
				name string
				ops  []*Op
			}{{"queued", p.queuedSends}, {"queued", p.queuedRecvs}, {"posted", p.posted}, {"in flight", p.inFlight}} {
				for _, op := range list.ops {
					w.logf("  %v %s", op, list.name)
				}
			}
		}
	}
	for _, it := range w.items {
		w.logf("under way %v", it)
	}
}

// words are the rest of a command.
type words struct {
	world *World
	left  []string
	err   error
}

func (c *words) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
	c.left = nil
}

func (c *words) next() string {
	if len(c.left) == 0 {
		c.fail("a word is missing")
		return ""
	}
	word := c.left[0]
	c.left = c.left[1:]
	return word
}

func (c *words) number(word string) int {
	number, err := strconv.Atoi(word)
	if err != nil {
		c.fail("%q is no number", word)
	}
	return number
}

func (c *words) duration(word string) time.Duration {
	d, err := time.ParseDuration(word)
	if err != nil {
		c.fail("%q is no duration", word)
	}
	return d
}

func (c *words) session() uint64 {
	text, ok := strings.CutPrefix(c.next(), "session=")
	if !ok {
		c.fail("session=... is missing")
	}
	return uint64(c.number(text))
}

func (c *words) node(do func(*Node)) {
	name := c.next()
	if n := c.world.Node(name); n != nil {
		do(n)
		return
	}
	c.fail("no node %q", name)
}

// pair reads a living node and the name of another one.
func (c *words) pair(do func(n *Node, other string)) {
	name, other := c.next(), c.next()
	n := c.world.Node(name)
	if n == nil || !n.Alive || c.world.Node(other) == nil {
		c.fail("no living node %q, or no node %q", name, other)
		return
	}
	do(n, other)
}

// item reads the words that select an item; none: the oldest.
func (c *words) item(do func(*Item)) {
	text := strings.Join(c.left, " ")
	c.left = nil
	number, err := strconv.Atoi(text)
	for _, it := range c.world.items {
		if err == nil && it.Number == number || err != nil && strings.Contains(it.String(), text) {
			do(it)
			return
		}
	}
	c.fail("nothing like %q is under way", text)
}
