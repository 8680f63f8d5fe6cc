package command

import "strings"

// withTwoDashes writes the options of other launchers, which have one dash (-host, -genv, -np=8), with two, as the parser needs them. It
// changes an argument that starts with one dash, a letter and one more letter, digit or dash. So -n and -h stay short options, and "-",
// "-5" and everything behind "--" are unchanged. Short options can therefore not be joined (-ln) nor have an attached value (-n4).
func withTwoDashes(args []string) []string {
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
