package proto

import (
	"fmt"
	"strconv"
	"strings"
)

// HintTells is the name of a hint of type HintUnknown. Clients of ours send it with CRDIRENT, CHDIRENT and RMDIRENT; stock
// servers ignore it. It says that the client uses HintRemoves or HintMoves when it removes an object's name. Its text is empty.
const HintTells = "viaduct.tells"

// TellsHint is that hint.
func TellsHint() Hint { return Hint{Name: HintTells} }

// Tells reports whether the hint is present.
func (h Hints) Tells() bool {
	_, ok := h.ours(HintTells)
	return ok
}

// HintNamed is the name of a hint of type HintUnknown. Servers of ours send it to the server of an object, with a SETATTR that
// changes nothing. Stock servers ignore it.
const HintNamed = "viaduct.named"

// A NameChange says that a user gave an object a name in a directory, or removed its name there.
type NameChange struct {
	Object, Dir Handle
	User        uint32 // who did it, by the capability
	Removed     bool
}

// Hint makes the hint: two handles and a user in decimal, and "+" or "-".
func (c NameChange) Hint() Hint {
	sign := "+"
	if c.Removed {
		sign = "-"
	}
	return Hint{Name: HintNamed, Text: fmt.Sprintf("%d %d %d %s", uint64(c.Object), uint64(c.Dir), c.User, sign)}
}

// NameChange returns the contents of that hint.
func (h Hints) NameChange() (c NameChange, ok bool) {
	text, _ := h.ours(HintNamed)
	words := strings.Split(text, " ")
	if len(words) != 4 || words[3] != "+" && words[3] != "-" {
		return c, false
	}
	object, err := strconv.ParseUint(words[0], 10, 64)
	dir, err2 := strconv.ParseUint(words[1], 10, 64)
	user, err3 := strconv.ParseUint(words[2], 10, 32)
	c = NameChange{Handle(object), Handle(dir), uint32(user), words[3] == "-"}
	return c, err == nil && err2 == nil && err3 == nil
}
