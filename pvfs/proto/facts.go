package proto

import (
	"fmt"
	"strconv"
	"strings"
)

// FactsKey is an extended attribute by which servers of ours ask each other for Facts. The request has UserHint. Nobody else may
// read it, and stock servers do not have it.
const FactsKey = "system.viaduct.facts"

// Facts are what decides whether a user may give an object a name.
type Facts struct {
	Type                ObjType
	Owner, Group, Perms uint32
	Parent              Handle // directory where the object counts as made; 0: not known
	May                 OpMask // rights of the user of the hint
}

// Value is the value of the attribute.
func (f Facts) Value() []byte {
	return fmt.Appendf(nil, "%d %d %d %d %d %d", f.Type, f.Owner, f.Group, f.Perms, uint64(f.Parent), f.May)
}

// ParseFacts parses the result of Value. EINVAL.
func ParseFacts(value []byte) (f Facts, err error) {
	words := strings.Split(string(value), " ")
	if len(words) != 6 {
		return f, EINVAL
	}
	var numbers [6]uint64
	for i, word := range words {
		bits := 32
		if i == 4 {
			bits = 64
		}
		if numbers[i], err = strconv.ParseUint(word, 10, bits); err != nil {
			return f, EINVAL
		}
	}
	return Facts{
		Type: ObjType(numbers[0]), Owner: uint32(numbers[1]), Group: uint32(numbers[2]), Perms: uint32(numbers[3]),
		Parent: Handle(numbers[4]), May: OpMask(numbers[5]),
	}, nil
}

// HintUser is the name of a hint of type HintUnknown. Servers of ours name in it the user for whom they ask; stock servers ignore it.
const HintUser = "viaduct.user"

// UserHint is that hint: the user's ID, then those of its groups, the primary one first.
func UserHint(uid uint32, groups []uint32) Hint {
	text := strconv.FormatUint(uint64(uid), 10)
	for _, g := range groups {
		text += " " + strconv.FormatUint(uint64(g), 10)
	}
	return Hint{Name: HintUser, Text: text}
}

// User returns the contents of that hint. There is at least one group, and there are MaxGroups at most.
func (h Hints) User() (uid uint32, groups []uint32, ok bool) {
	text, _ := h.ours(HintUser)
	words := strings.Split(text, " ")
	if len(words) < 2 || len(words) > 1+MaxGroups {
		return 0, nil, false
	}
	ids := make([]uint32, len(words))
	for i, word := range words {
		n, err := strconv.ParseUint(word, 10, 32)
		if err != nil {
			return 0, nil, false
		}
		ids[i] = uint32(n)
	}
	return ids[0], ids[1:], true
}
