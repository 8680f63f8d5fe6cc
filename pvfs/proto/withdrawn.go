package proto

import (
	"fmt"
	"strconv"
	"strings"
)

// HintWithdrawn is the name of a hint of type HintUnknown that servers of ours send to one another with a SETATTR that changes nothing, and
// that other servers do not look at.
const HintWithdrawn = "viaduct.withdrawn"

// A Withdrawal says that somebody may do less with an object than before.
type Withdrawal struct {
	Object Handle
	At     int64  // capabilities for the object that were issued until then (ns, by its server's clock) are void
	Owner  uint32 // this user's capabilities stay good: an owner can take any right back
}

// Hint is the hint that says so.
func (w Withdrawal) Hint() Hint {
	return Hint{Name: HintWithdrawn, Text: fmt.Sprintf("%d %d %d", uint64(w.Object), w.At, w.Owner)}
}

// Withdrawal returns what that hint says.
func (h Hints) Withdrawal() (w Withdrawal, ok bool) {
	text, _ := h.ours(HintWithdrawn)
	words := strings.Split(text, " ")
	if len(words) != 3 {
		return w, false
	}
	object, err := strconv.ParseUint(words[0], 10, 64)
	at, err2 := strconv.ParseInt(words[1], 10, 64)
	owner, err3 := strconv.ParseUint(words[2], 10, 32)
	return Withdrawal{Handle(object), at, uint32(owner)}, err == nil && err2 == nil && err3 == nil
}
