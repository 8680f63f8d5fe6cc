package proto

import (
	"fmt"
	"strconv"
	"strings"
)

// HintMoves is the name of a hint of type HintUnknown. Clients of ours send it with the RMDIRENT of a rename from one directory
// to another; stock servers ignore it. Its text is two handles. If the name refers to the first, that object is now in the
// directory of the second.
const HintMoves = "viaduct.move"

// MovesHint is that hint for an object.
func MovesHint(object, to Handle) Hint {
	return Hint{Name: HintMoves, Text: fmt.Sprintf("%d %d", uint64(object), uint64(to))}
}

// Moves returns the object of that hint, and its new directory.
func (h Hints) Moves() (object, to Handle, ok bool) {
	text, _ := h.ours(HintMoves)
	first, second, _ := strings.Cut(text, " ")
	a, err := strconv.ParseUint(first, 10, 64)
	b, err2 := strconv.ParseUint(second, 10, 64)
	return Handle(a), Handle(b), err == nil && err2 == nil
}
