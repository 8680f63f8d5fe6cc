package proto

import (
	"fmt"
	"strconv"
	"strings"
)

// HintWithdrawn is the name of a hint of type HintUnknown. Servers of ours send it to each other with a SETATTR that changes
// nothing; stock servers ignore it.
const HintWithdrawn = "viaduct.withdrawn"

// A Withdrawal says that users' rights to an object were reduced.
type Withdrawal struct {
	Object Handle
	At     int64  // capabilities for the object issued up to this time (ns, by its server's clock) are void
	Owner  uint32 // the capabilities of this user stay valid: an owner can restore any right
	Open   bool   // those for open files are void, too
}

// withdrawnOpen ends the text of a hint that has Open.
const withdrawnOpen = " open"

// Hint makes the hint.
func (w Withdrawal) Hint() Hint {
	text := fmt.Sprintf("%d %d %d", uint64(w.Object), w.At, w.Owner)
	if w.Open {
		text += withdrawnOpen
	}
	return Hint{Name: HintWithdrawn, Text: text}
}

// Withdrawal returns the contents of that hint.
func (h Hints) Withdrawal() (w Withdrawal, ok bool) {
	text, _ := h.ours(HintWithdrawn)
	text, open := strings.CutSuffix(text, withdrawnOpen)
	words := strings.Split(text, " ")
	if len(words) != 3 {
		return w, false
	}
	object, err := strconv.ParseUint(words[0], 10, 64)
	at, err2 := strconv.ParseInt(words[1], 10, 64)
	owner, err3 := strconv.ParseUint(words[2], 10, 32)
	return Withdrawal{Handle(object), at, uint32(owner), open}, err == nil && err2 == nil && err3 == nil
}
