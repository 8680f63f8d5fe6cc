package reliable

// heavy decides how Delay reacts to loss. A little loss means nothing: cables,
// radios and the hosts' own buffers lose packets now and then, and a window that
// shrank for each loss could not use such a path. Much loss may mean that a buffer
// on the path is too small for its delay to be measured, or that the path is bad. To
// find out, heavy makes an experiment: it shrinks the window. If a larger share of
// the packets arrives then, the buffer was too small. If not, the path is bad, the
// window is restored, and this much loss is tolerated for a while.
type heavy struct {
	acked, lost int // bytes since the share was last computed
	rounds      int // since then
	stale       int // rounds whose counts still belong to an earlier window
	tolerated   float64
	forget      int     // rounds until tolerated expires
	testing     bool    // the window was shrunk as an experiment
	before      float64 // the share of loss that started the experiment
	failed      int     // experiments in a row without success
	hold        int     // rounds to keep the window after a successful experiment
}

const (
	// heavyShare is the share of loss that is always tolerated, and heavyMost the
	// share that is never tolerated: even on a bad path such a window is too large,
	// because most packets are lost.
	heavyShare = 0.10
	heavyMost  = 0.50
	// heavyShrink is the factor of the experiment. The experiment is a success if it
	// gained heavyHelped of the possible gain, and more than heavyChance of all
	// packets, because a sample is never exact.
	heavyShrink = 0.7
	heavyHelped = 0.35
	heavyChance = 0.05
	// After heavyFailed failed experiments in a row, a path counts as bad for heavyForget rounds.
	heavyFailed = 2
	heavyForget = 500
	// heavyHold, divided by the window in segments, is how many rounds a window is
	// kept after a successful experiment: one segment more is much for a small
	// window.
	heavyHold    = 128
	heavyHoldMax = 32
	// heavySample is the number of segments over which a share is computed, and
	// heavyRounds the number of rounds, if they had heavyLeast segments.
	heavySample = 100
	heavyRounds = 4
	heavyLeast  = 16
)

func (h *heavy) init() { *h = heavy{tolerated: heavyShare} }

// disturbed ends an experiment without a result, because the window has changed for
// another reason.
func (h *heavy) disturbed() {
	h.testing = false
	h.changed()
}

// changed is called when the window has changed: earlier packets say nothing about
// the new window. Losses are known a round later, and the loss of the last segment
// of a window one more.
func (h *heavy) changed() { h.stale, h.acked, h.lost, h.rounds = 2, 0, 0, 0 }

// mayGrow reports whether the window may grow after a round with this loss. It may
// not if the loss is more than is tolerated, even if that is chance, nor during an
// experiment.
func (h *heavy) mayGrow(acked, lost int) bool {
	return !h.testing && h.hold == 0 && float64(lost) <= h.tolerated*float64(acked+lost)
}

// endRound checks the loss after a round trip and returns the factor by which the
// window must change; 1 means no change. window and segment are in bytes.
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

// decide returns the factor for a share of loss and a window in segments.
func (h *heavy) decide(share, segments float64) float64 {
	switch {
	case share > heavyMost:
		h.testing = false
		return 1.5 * (1 - share) // what arrives, and half as much again
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

// helped reports whether the smaller window gained a good part of the possible gain.
// The possible gain assumes that the loss came from a full buffer used only by this
// sender: with others, a smaller window of one of them gains little.
func (h *heavy) helped(share float64) bool {
	before := 1 - h.before
	best := min(before/heavyShrink, 1)
	return 1-share >= before+max((best-before)*heavyHelped, heavyChance)
}
