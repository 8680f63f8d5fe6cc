package tree

import "github.com/viaduct-hpc/viaduct/internal/mpi/launch/tree/wire"

// fence notes that the processes of a part wait in a fence, and what they have put.
func (n *Node) fence(g *group, i int, f *wire.Fence) {
	if g.pairs.add(f.Pairs) && n.cfg.Node == 0 && !g.aborted {
		g.aborted = true
		n.send(Up, &wire.Abort{Group: g.number, Code: 1, Text: "the processes put more pairs than a launcher keeps", Babble: true})
		return
	}
	g.fresh = append(g.fresh, f.Pairs...)
	g.parts[i].waits = g.parts[i].waits || f.Last
	n.checkFence(g)
}

// checkFence tells the parent when all processes in this part of the tree wait. Node 0 ends the
// fence. When the job ends no fence does: the others would go on for a moment.
func (n *Node) checkFence(g *group) {
	if g.ending || g.toldBad && !n.cfg.KeepGoing {
		return
	}
	all, some := g.all(func(p *part) bool { return p.waits })
	if !all || !some {
		return
	}
	pairs := g.fresh
	g.fresh = nil
	if n.cfg.Node != 0 {
		inFrames(pairs, func(pairs []wire.Pair, last bool) {
			n.send(Up, &wire.Fence{Group: g.number, Pairs: pairs, Last: last})
		})
		// The fence is reported once. The parent remembers that this node waits.
		for i := range g.parts {
			g.parts[i].waits = false
		}
		return
	}
	bytes := 0
	for _, p := range pairs {
		bytes += size(p)
	}
	if bytes > SpreadBytesMax {
		pairs = nil
	}
	inFrames(pairs, func(pairs []wire.Pair, last bool) {
		n.release(g, &wire.Release{Group: g.number, Pairs: pairs, Last: last})
	})
}

// inFrames cuts pairs into pieces of about pairsFrameBytes.
func inFrames(pairs []wire.Pair, send func(pairs []wire.Pair, last bool)) {
	for start := 0; ; {
		end, bytes := start, 0
		for end < len(pairs) && bytes < pairsFrameBytes {
			bytes += size(pairs[end])
			end++
		}
		send(pairs[start:end:end], end == len(pairs))
		if start = end; end == len(pairs) {
			return
		}
	}
}

// release passes the end of a fence on.
func (n *Node) release(g *group, f *wire.Release) {
	g.pairs.add(f.Pairs)
	if f.Last {
		for i := range g.parts {
			g.parts[i].waits = false
		}
	}
	n.spread(g, f)
}
