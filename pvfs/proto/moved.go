package proto

import (
	"fmt"
	"strconv"
	"strings"
)

// HintMoves is the name of a hint of type HintUnknown that clients of ours send with the RMDIRENT of a rename from one directory
// to another, and that other servers do not look at. Its text is two handles: if the name is of the first, that is now in
// the directory that is the second.
const HintMoves = "viaduct.move"

// MovesHint is that hint for an object.
func MovesHint(object, to Handle) Hint {
	return Hint{Name: HintMoves, Text: fmt.Sprintf("%d %d", uint64(object), uint64(to))}
}

// Moves returns the object of that hint, and the directory where it is now.
func (h Hints) Moves() (object, to Handle, ok bool) {
	text, _ := h.ours(HintMoves)
	first, second, _ := strings.Cut(text, " ")
	a, err := strconv.ParseUint(first, 10, 64)
	b, err2 := strconv.ParseUint(second, 10, 64)
	return Handle(a), Handle(b), err == nil && err2 == nil
}
