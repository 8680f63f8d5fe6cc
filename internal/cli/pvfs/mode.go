package pvfs

import (
	"io/fs"
	"strings"
)

// symbolic applies a symbolic mode: clauses separated by commas, each with classes of users (u, g, o, a), one or more of + - =,
// and the rights r, w, x, X, s.
func symbolic(bits uint32, text string, dir bool) (uint32, error) {
	for clause := range strings.SplitSeq(text, ",") {
		var err error
		if bits, err = applyClause(bits, clause, dir); err != nil {
			return 0, err
		}
	}
	return bits, nil
}

// The bits of each class of users: its rights, and the set-id bit for s.
var whoBits = map[byte]struct{ rights, setID uint32 }{
	'u': {0o700, 0o4000}, 'g': {0o070, 0o2000}, 'o': {0o007, 0}, 'a': {0o777, 0o6000},
}

func applyClause(bits uint32, clause string, dir bool) (uint32, error) {
	var rights, setID uint32
	i := 0
	for ; i < len(clause) && strings.IndexByte("+-=", clause[i]) < 0; i++ {
		who, ok := whoBits[clause[i]]
		if !ok {
			return 0, modeError(clause[i])
		}
		rights, setID = rights|who.rights, setID|who.setID
	}
	if i == len(clause) {
		return 0, errMode
	}
	if rights == 0 {
		rights, setID = whoBits['a'].rights, whoBits['a'].setID
	}
	for i < len(clause) {
		verb := clause[i]
		var given uint32
		for i++; i < len(clause) && strings.IndexByte("+-=", clause[i]) < 0; i++ {
			switch c := clause[i]; {
			case c == 'r':
				given |= rights & 0o444
			case c == 'w':
				given |= rights & 0o222
			case c == 'x', c == 'X' && (dir || bits&0o111 != 0):
				given |= rights & 0o111
			case c == 's':
				given |= setID
			case c != 'X':
				return 0, modeError(c)
			}
		}
		switch verb {
		case '+':
			bits |= given
		case '-':
			bits &^= given
		case '=':
			bits = bits&^(rights|setID) | given
		}
	}
	return bits, nil
}

// letters formats a mode like ls(1), from an object's type and the bits of its server.
func letters(typ fs.FileMode, bits uint32) string {
	b := []byte("?rwxrwxrwx")
	switch {
	case typ&fs.ModeDir != 0:
		b[0] = 'd'
	case typ&fs.ModeSymlink != 0:
		b[0] = 'l'
	case typ.IsRegular():
		b[0] = '-'
	}
	for i := range 9 {
		if bits&(0o400>>i) == 0 {
			b[1+i] = '-'
		}
	}
	for i, special := range []struct {
		bit           uint32
		with, without byte // letters with and without the right to execute
	}{{0o4000, 's', 'S'}, {0o2000, 's', 'S'}, {0o1000, 't', 'T'}} {
		at := &b[3+3*i]
		switch {
		case bits&special.bit == 0:
		case *at == 'x':
			*at = special.with
		default:
			*at = special.without
		}
	}
	return string(b)
}
