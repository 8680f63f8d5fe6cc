// Package dashes lets every command accept long options with one dash as well as with
// two.
package dashes

import "strings"

// Normalize lets options with one dash, as in Go programs and MPI tools (-json,
// -size=8), have the meaning of those with two (--json, --size=8), which the parser
// needs. It rewrites an argument that starts with one dash, a letter and one more
// letter, digit or dash. So -o and -h stay short options, and "-", "-5" and everything
// behind "--" are unchanged. Short options can therefore not be joined (-qh) nor have
// an attached value (-oFILE); no command needs that.
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
