package command

import (
	"strings"

	"github.com/spf13/pflag"
)

// aliases are names that options have in other launchers: Hydra's, Open MPI's, Slurm's.
var aliases = map[string]string{
	"c":                "np",
	"host":             "hosts",
	"H":                "hosts",
	"f":                "hostfile",
	"machinefile":      "hostfile",
	"default-hostfile": "hostfile",
	"N":                "ppn",
	"npernode":         "ppn",
	"ntasks-per-node":  "ppn",
	"perhost":          "ppn",
	"launcher-exec":    "rsh",
	"tag-output":       "label",
	"prepend-rank":     "label",
	"wd":               "wdir",
	"export":           "x",
	"bind":             "bind-to",
	"map":              "map-by",
}

// canonical rewrites the options before a program: aliases become our names, and "--env K V" in Hydra's
// manner becomes --env K=V.
func canonical(args []string, flags *pflag.FlagSet) (out []string) {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--" || !strings.HasPrefix(arg, "-") || arg == "-" {
			return append(out, args[i:]...)
		}
		name, value, attached := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if other, ok := aliases[name]; ok {
			name, arg = other, "--"+other
			if attached {
				arg += "=" + value
			}
		}
		out = append(out, arg)
		if attached || !takesValue(flags, name) || i+1 == len(args) {
			continue
		}
		i++
		if value = args[i]; (name == "env" || name == "genv") && !strings.Contains(value, "=") && i+1 < len(args) {
			i++
			value += "=" + args[i]
		}
		out = append(out, value)
	}
	return out
}
