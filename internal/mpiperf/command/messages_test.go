package command

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	_ "github.com/viaduct-hpc/viaduct/bmi/bmitest"
	"github.com/viaduct-hpc/viaduct/internal/logtext"
	"github.com/viaduct-hpc/viaduct/internal/sayonce"
)

// TestMessages: what users get for the usual mistakes says once what happened, with what, and what to do. mpibench runs alone
// here, without a launcher.
func TestMessages(t *testing.T) {
	t.Setenv("MPI_METHOD", "mem")
	for _, c := range []struct {
		line string
		code int
		says string // the first line; * is any text
	}{
		{"--szies 8 latency", exitUsage, "mpibench: mpibench has no option --szies; did you mean --sizes?"},
		{"--quux", exitUsage, "mpibench: mpibench has no option --quux"},
		{"latncy", exitUsage, `mpibench: *unknown test "latncy"*`},
		{"--sizes 1.5 latency", exitUsage, `mpibench: bad size "1.5": want a whole number and perhaps KiB, MiB, GiB and so on to EiB, for instance 8, 64KiB, 1MiB`},
		{"--sizes 8-4 latency", exitUsage, `mpibench: bad range of sizes "8-4": 8 B is over 4 B`},
		{"--window 0 rate", exitUsage, "mpibench: --window 0: choose 1 to *"},
		{"--window x rate", exitUsage, "mpibench: --window x: want a whole number"},
		{"--batches 0 rate", exitUsage, "mpibench: --batches 0: choose 1 to *"},
		{"--time 5x rate", exitUsage, "mpibench: --time 5x: want a time with its unit, such as 200ms, 3s or 1m30s"},
		{"--ranks two barrier", exitUsage, `mpibench: bad --ranks "two": want numbers and ranges such as 2,4 or 2-16`},
		{"--pin x barrier", exitUsage, `mpibench: bad --pin "x": want on, off or numbers of cores such as 0,1`},
		{"--memory fast put", exitUsage, `mpibench: bad --memory "fast": choose allocated or created`},
		{"--tune x --json", exitUsage, "mpibench: --tune writes a table, and no --json"},
		{"--sizes", exitUsage, "mpibench: --sizes needs a value behind it"},
		{"write_all", exitUsage, "mpibench: *write_all needs the name of a file: give --file"},
	} {
		var out, errs logtext.Buffer
		code := (&App{Out: &out, Err: &errs}).Main(t.Context(), strings.Fields(c.line))
		said := errs.String()
		assert.Equal(t, c.code, code, "%s: %s", c.line, said)
		assert.Empty(t, out.String(), c.line)
		first, rest, _ := strings.Cut(said, "\n")
		assert.Regexp(t, "^"+strings.ReplaceAll(regexp.QuoteMeta(c.says), `\*`, ".*")+"$", first, c.line)
		assert.Empty(t, sayonce.Repeats(first), first)
		assert.Equal(t, "Run 'mpibench --help' for how it is used.\n", rest, c.line)
	}
}
