// Package dashes makes long options work with one dash as with two, for every command.
package dashes

import "strings"

// Normalize makes options that are written with one dash, as Go programs and
// MPI tools do (-json, -size=8), mean what they mean with two, as the parser wants
// them (--json, --size=8). It rewrites an argument that starts with one dash, a
// letter and one more letter, digit or dash; so -o and -h stay short options, and
// "-", "-5" and everything behind "--" stay as they are. Short options can
// therefore not be joined (-qh) nor have their value attached (-oFILE): none of
// the commands needs that.
func Normalize(args []string) []string {
	out := make([]string, len(args))
	for i, arg := range args {
		if arg == "--" {
			copy(out[i:], args[i:])
			break
		}
		if isLongWithOneDash(arg) {
			arg = "-" + arg
		}
		out[i] = arg
	}
	return out
}

func isLongWithOneDash(arg string) bool {
	name, ok := strings.CutPrefix(arg, "-")
	if !ok {
		return false
	}
	name, _, _ = strings.Cut(name, "=")
	return len(name) >= 2 && letter(name[0]) && (letter(name[1]) || name[1] == '-' || name[1] >= '0' && name[1] <= '9')
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
