package command

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/mpi/launch"
	"github.com/viaduct-hpc/viaduct/internal/sayonce"
)

// TestMessages: what users get for the usual mistakes says once what happened, with what, and what to do.
func TestMessages(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), mode))
		return path
	}
	plain, empty, broken := file("plain", "", 0o644), file("empty", "# no host\n", 0o644), file("broken", "a slots=many\n", 0o644)
	for _, c := range []struct {
		line string
		code int
		says string // the first line; * is any text
	}{
		{"", exitUsage, "mpiexec: the program to run is missing: mpiexec -n 4 PROGRAM"},
		{"--hosts a", exitUsage, "mpiexec: the program to run is missing behind --hosts a"},
		{"--tiemout 3 true", exitUsage, "mpiexec: mpiexec has no option --tiemout; did you mean --timeout?"},
		{"-labl true", exitUsage, "mpiexec: mpiexec has no option --labl; did you mean --label?"},
		{"-machinefil a true", exitUsage, "mpiexec: mpiexec has no option --machinefil; did you mean --machinefile?"},
		{"--quux true", exitUsage, "mpiexec: mpiexec has no option --quux"},
		{"-n 0 true", exitUsage, "mpiexec: -n 0: a program has 1 process or more"},
		{"-n four true", exitUsage, "mpiexec: -n four: the number of processes is a number, 1 or more"},
		{"-n4 true", exitUsage, "mpiexec: -n4: write -n 4"},
		{"-n", exitUsage, "mpiexec: -n needs a value behind it"},
		{"--timeout 5x true", exitUsage, "mpiexec: --timeout 5x: want a time with its unit, such as 200ms, 3s or 1m30s"},
		{"-n 1 true : --label true", exitUsage, "mpiexec: --label counts for all programs: it stands before the first one"},
		{"--label --no-label true", exitUsage, "mpiexec: --label and --no-label cannot both be had: give one of them"},
		{"--hosts a --hostfile " + plain + " true", exitUsage, "mpiexec: --hosts and --hostfile cannot both be had: give one of them"},
		{"--hostfile /no/such true", exitUsage, "mpiexec: --hostfile /no/such: no such file or directory: give a file that you can read, with a host a line"},
		{"--hostfile " + dir + " true", exitUsage, "mpiexec: --hostfile " + dir + ": is a directory: give a file that you can read, with a host a line"},
		{"--hostfile " + empty + " true", exitUsage, "mpiexec: --hostfile " + empty + ": *host*"},
		{"--hostfile " + broken + " true", exitUsage, "mpiexec: --hostfile " + broken + ": line 1: *\"many\" is no number of processes from 1 to *"},
		{"--hosts a:0 true", exitUsage, "mpiexec: --hosts: *"},
		{"--ppn -1 true", exitUsage, "mpiexec: --ppn -1: a host has 1 process or more"},
		{"--bind-to moon true", exitUsage, "mpiexec: --bind-to moon: it is none, core, hwthread, socket or numa"},
		{"--wdir /no/such true", exitUsage, "mpiexec: --wdir /no/such: there is no such folder on this machine"},
		{"--env A=1 --env x true", exitUsage, "mpiexec: the program to run is missing behind --env A=1 --env x true"},
		{"--env =x true", exitUsage, "mpiexec: --env =x: it is written --env KEY=VALUE"},
		{"-x NO_SUCH_VARIABLE true", exitUsage, "mpiexec: -x NO_SUCH_VARIABLE: there is no such variable in the environment"},
		{"-n 2 no-such-program", exitNotFound, "mpiexec: *no-such-program*"},
		{"-n 2 " + plain, exitNotExecutable, "mpiexec: *" + plain + "*"},
		{"--hosts no-such-host.invalid --rsh false -n 1 true", launch.CodeFailed, "mpiexec: *no-such-host.invalid*"},
	} {
		code, out, said := run(t, c.line)
		assert.Equal(t, c.code, code, "%s: %s", c.line, said)
		assert.Empty(t, out, c.line)
		first, rest, _ := strings.Cut(said, "\n")
		assert.Regexp(t, "^"+strings.ReplaceAll(regexp.QuoteMeta(c.says), `\*`, ".*")+"$", first, c.line)
		assert.Empty(t, sayonce.Repeats(first), first)
		if c.code == exitUsage {
			assert.Equal(t, "Run 'mpiexec --help' for how it is used.\n", rest, c.line)
		}
	}
}
