package reliable

// heavy is what Delay makes of loss. A little loss says nothing: cables, radios
// and the hosts' own buffers lose now and then, and a window that shrinks for each
// loss would not use such a path. Much loss may mean that a buffer on the way is too
// small for its delay to be seen. Or that the path is bad. To find out, heavy makes
// an experiment: it shrinks the window. If more of what is sent arrives then, it
// was right. If not, the path is bad, the window is given back, and this much loss
// is tolerated for a while.
type heavy struct {
	acked, lost int // bytes since the share was taken last
	rounds      int // since then
	stale       int // rounds whose counts are of a window that is no more
	tolerated   float64
	forget      int     // rounds for which tolerated still holds
	testing     bool    // the window was shrunk to see what happens
	before      float64 // share of loss that started the experiment
	failed      int     // experiments in a row that did not help
	hold        int     // rounds to stay where an experiment has helped
}

const (
	// heavyShare is the share of loss that is tolerated from the start, and
	// heavyMost the share that is never tolerated: such a window is too large
	// even on a bad path, as most of what is sent is lost.
	heavyShare = 0.10
	heavyMost  = 0.50
	// heavyShrink is by how much the experiment shrinks the window; it helped
	// if it won heavyHelped of what it can win, and more than heavyChance, of
	// all that is sent, as a sample is never exact.
	heavyShrink = 0.7
	heavyHelped = 0.35
	heavyChance = 0.05
	// heavyFailed is how many experiments in a row must fail before a path
	// counts as bad, and heavyForget for how many rounds it does.
	heavyFailed = 2
	heavyForget = 500
	// heavyHold is how many rounds a window stays where an experiment has
	// helped, times its segments: one segment more is much to a small window.
	heavyHold    = 128
	heavyHoldMax = 32
	// heavySample is how many segments a share is taken over, and heavyRounds
	// how many rounds, if they had heavyLeast segments.
	heavySample = 100
	heavyRounds = 4
	heavyLeast  = 16
)

func (h *heavy) init() { *h = heavy{tolerated: heavyShare} }

// disturbed ends an experiment without a result: the window has changed for
// another reason.
func (h *heavy) disturbed() {
	h.testing = false
	h.changed()
}

// changed says that the window has changed: what was sent before says nothing
// of it. Losses of a window are known a round later, the loss of the last of it
// one more.
func (h *heavy) changed() { h.stale, h.acked, h.lost, h.rounds = 2, 0, 0, 0 }

// mayGrow reports whether the window may grow after a round that lost so much.
// More than is tolerated may be chance, but it is no time to grow; nor is an
// experiment.
func (h *heavy) mayGrow(acked, lost int) bool {
	return !h.testing && h.hold == 0 && float64(lost) <= h.tolerated*float64(acked+lost)
}

// endRound looks at the loss after a round trip and returns the factor by which
// the window is to change; 1 for not at all. window and segment are in bytes.
func (h *heavy) endRound(window, segment float64) float64 {
	if h.forget--; h.forget <= 0 {
		h.tolerated = heavyShare
	}
	h.hold = max(h.hold-1, 0)
	if h.stale > 0 {
		h.stale--
		h.acked, h.lost = 0, 0
		return 1
	}
	total := float64(h.acked + h.lost)
	h.rounds++
	if total < heavySample*segment && (h.rounds < heavyRounds || total < heavyLeast*segment) {
		return 1
	}
	share := float64(h.lost) / total
	h.acked, h.lost, h.rounds = 0, 0, 0
	factor := h.decide(share, window/segment)
	if factor != 1 {
		h.changed()
	}
	return factor
}

// decide is what a share of loss makes of a window of so many segments.
func (h *heavy) decide(share, segments float64) float64 {
	switch {
	case share > heavyMost:
		h.testing = false
		return 1.5 * (1 - share) // what arrives, and half as much
	case h.testing:
		h.testing = false
		if h.helped(share) {
			h.failed, h.hold = 0, int(min(heavyHold/segments, heavyHoldMax))
			return 1
		}
		if h.failed++; h.failed >= heavyFailed {
			h.tolerated, h.forget = min(share+max(share/4, heavyShare/2), heavyMost), heavyForget
		}
		return 1 / heavyShrink
	case share <= h.tolerated:
		return 1
	}
	h.testing, h.before = true, share
	return heavyShrink
}

// helped reports whether the smaller window has won a good part of what it can
// win, if the loss was that of a full buffer and nobody else fills it: with others
// there, what one of them gives up is little.
func (h *heavy) helped(share float64) bool {
	before := 1 - h.before
	best := min(before/heavyShrink, 1)
	return 1-share >= before+max((best-before)*heavyHelped, heavyChance)
}
