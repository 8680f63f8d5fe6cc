package bulk

import (
	"math/bits"
	"time"
)

// A Way is how a whole message is moved, where there is a choice.
type Way uint8

const (
	ByRDMA    Way = iota // each side moves a part of it
	ByPackets            // the sender moves all of it, in DATA packets
)

// Limits of a Chooser.
const (
	// ChoiceMin is the size of the smallest message for which there is a choice, in bytes, and ChoiceMax that of the largest:
	// larger ones are in no cache, and RDMA copies them once.
	ChoiceMin = 16 << 10
	ChoiceMax = 8<<20 - 1

	// trialMessages are moved in the other way before the two are compared; the first of them finds nothing in the caches.
	trialMessages = 3
	// trialsApartMin and trialsApartMax are how many messages there are between two trials. Each trial that changes nothing
	// doubles the number.
	trialsApartMin = 8
	trialsApartMax = 1024
	// gainMin is the share of the cost that the other way must save: a tenth.
	gainMin = 0.1
	// worseMax is how much dearer the present way may become before the other one is tried again: by a half.
	worseMax = 1.5
)

// A Chooser learns which Way is faster between two processes. That depends on the machine: where two processors share a cache,
// messages of up to some MiB are faster through packets in shared memory, although these are copied twice; where they do
// not, by RDMA. It changes when a process moves to another processor. So the receiver measures: it tries the other way now and
// then, and soon if the present one has become slower. Messages of similar size are compared. The zero value begins with RDMA.
type Chooser struct {
	classes [classes]choice
}

// classes of sizes: from one power of two to the next.
var minBits = bits.Len(ChoiceMin)

const classes = 9

// A choice is that among messages of one class.
type choice struct {
	best Way
	// cost of a byte, in ns, by Way: it falls at once and rises slowly, by an eighth at most, because a message can take longer
	// for many reasons, but not less; 0: not known.
	cost  [2]float64
	known float64 // cost[best] when it was last compared with that of the other way
	trial int     // messages left of a trial; 0: none is under way
	apart int     // messages between the last trial and the next; 0: trialsApartMin
	since int     // messages since the last trial
}

func (c *Chooser) choice(size int) *choice {
	return &c.classes[bits.Len(uint(min(max(size, ChoiceMin), ChoiceMax)))-minBits]
}

// Choose is the way for a message that moves while no other does. Moved tells of it, unless it fails or another one has begun.
func (c *Chooser) Choose(size int) Way {
	h := c.choice(size)
	if h.trial > 0 {
		return h.other()
	}
	return h.best
}

// Moved says how long a message took that Choose had been asked about.
func (c *Chooser) Moved(size int, w Way, took time.Duration) {
	h := c.choice(size)
	cost := max(float64(took.Nanoseconds()), 1) / float64(size)
	if old := h.cost[w]; old == 0 || cost < old {
		h.cost[w] = cost
	} else {
		h.cost[w] += min(cost-old, old) / 8
	}
	switch {
	case h.trial > 0 && w != h.best:
		if h.trial--; h.trial == 0 {
			h.compare()
		}
	case h.trial == 0:
		h.since++
		if h.since >= max(h.apart, trialsApartMin) || h.known > 0 && h.cost[h.best] > worseMax*h.known {
			h.trial = trialMessages
			h.cost[h.other()] = 0 // the old cost is not used any more
		}
	}
}

// compare ends a trial.
func (h *choice) compare() {
	if h.cost[h.other()] < (1-gainMin)*h.cost[h.best] {
		h.best, h.apart = h.other(), trialsApartMin
	} else {
		h.apart = min(2*max(h.apart, trialsApartMin), trialsApartMax)
	}
	h.since, h.known = 0, h.cost[h.best]
}

func (h *choice) other() Way { return ByPackets - h.best }
