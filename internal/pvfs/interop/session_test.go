package interop

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest/stock"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
)

//go:embed testdata/session.txt
var session string

// TestSameAsStock: a session of tools has the same output and exit statuses on stock servers and on ours.
func TestSameAsStock(t *testing.T) {
	for _, n := range fleets {
		if testing.Short() && n != 2 {
			continue
		}
		t.Run(fmt.Sprint(n), func(t *testing.T) { compareSessions(t, n, nil) })
	}
	if testing.Short() {
		return
	}
	t.Run("spread", func(t *testing.T) {
		compareSessions(t, 4, func(o *config.GenOptions) { o.DistrDir.Initial, o.DistrDir.Max, o.DistrDir.Split = 2, 4, 5 })
	})
	t.Run("not stuffed", func(t *testing.T) {
		compareSessions(t, 2, func(o *config.GenOptions) { o.NoStuffing = true })
	})
}

// compareSessions runs the session on both, command by command.
func compareSessions(t *testing.T, servers int, change func(*config.GenOptions)) {
	stockWorld, ourWorld := theirs(t, servers, change), ours(t, servers, change)
	for _, w := range []*world{stockWorld, ourWorld} {
		for name, size := range map[string]int{"in1k": 1000, "in100k": 102400, "in3m": 3 << 20, "in64k": 65536, "in64k1": 65537, "empty": 0} {
			w.local(t, name, content(size))
		}
	}
	for line := range strings.Lines(session) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if _, err := os.Stat("/bin/csh"); err != nil && strings.Contains(line, "etmattr") {
			t.Logf("left out, as it is a script for csh, which is not here: %s", line)
			continue
		}
		want, got := stockWorld.step(t, line), ourWorld.step(t, line)
		assert.Equal(t, want, got, line)
	}
	for _, w := range []*world{stockWorld, ourWorld} {
		out, err := os.ReadFile(filepath.Join(w.Dir, "out"))
		require.NoError(t, err)
		require.Equal(t, content(1000), out, "what the last copy out brought")
	}
}

// step runs one line of the session, and returns the result for the comparison.
func (w *world) step(t *testing.T, line string) string {
	t.Helper()
	how, command, ok := strings.Cut(line, ": ")
	if !ok {
		how, command = "", line
	}
	host, port, _ := strings.Cut(strings.TrimPrefix(w.addresses[0], "tcp://"), ":")
	command = strings.NewReplacer("$M", stock.MountPoint, "$A", host+":"+port, "$H", host, "$P", port).Replace(command)
	words := strings.Fields(command)
	r := w.Run(t, words[0], words[1:]...)
	out := w.normal(r.Out)
	switch how {
	case "any":
		out = ""
	case "sort":
		lines := strings.Split(out, "\n")
		slices.Sort(lines)
		out = strings.Join(lines, "\n")
	case "dump":
		out = objects(out)
	case "":
	default:
		t.Fatalf("%s: no such comparison", line)
	}
	return fmt.Sprintf("%s\nstatus %d", out, r.Status)
}

// differences are the permitted differences between two runs of a command: times, handles, memory addresses, and the chosen
// server.
var differences = []struct {
	what *regexp.Regexp
	by   string
}{
	{regexp.MustCompile(`\[E \d\d:\d\d:\d\d\.\d+\]`), "[E]"},
	{regexp.MustCompile(`(?m)^\[E\] \t\[bt\].*\n`), ""},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d`), "TIME"},
	{regexp.MustCompile(`\d{10} +\([^)]*\d{4}\)`), "TIME"},
	{regexp.MustCompile(`[0-9a-f]{16}\.bstream`), "BSTREAM"},
	{regexp.MustCompile(`tcp://127\.0\.0\.1:\d+`), "SERVER"},
	{regexp.MustCompile(`\b\d{10,}\b`), "NUMBER"},
	{regexp.MustCompile(`(Handle +: |handle )\w+`), "${1}NUMBER"},
	{regexp.MustCompile(`/\S*/pvfs2tab`), "pvfs2tab"},
	{regexp.MustCompile(`(?m)^(\t?bytes available|\t?bytes total|\t?RAM bytes \w+|\t?uptime \(seconds\)|\t?load averages) *:.*$`), "$1: X"},
	{regexp.MustCompile(`/\S*/(in\w+)`), "$1"},
}

// normal is the output without them.
func (w *world) normal(out string) string {
	for _, d := range differences {
		out = d.what.ReplaceAllString(out, d.by)
	}
	return out
}

// objects is the output of pvfs2-fs-dump in the order of names: the types of the objects of each. The servers of a name and its
// objects are chosen at random, and each server decides how many objects it has in stock. Complaints about metafiles in stock go
// to stderr, so they can appear anywhere, depending on the buffer of stdout.
func objects(dump string) string {
	var names []string
	dump = complaint.ReplaceAllString(dump, "")
	tree, _, _ := strings.Cut(dump, "remaining handles:")
	for part := range strings.SplitSeq(tree, "File: ") {
		if strings.HasPrefix(part, "#") || strings.TrimSpace(part) == "" {
			continue
		}
		lines := strings.Split(strings.TrimSpace(part), "\n")
		name, rest := lines[0], lines[1:]
		for i, l := range rest {
			_, l, _ = strings.Cut(l, "type = ")
			rest[i], _, _ = strings.Cut(l, ",")
		}
		names = append(names, name+": "+strings.Join(rest, " "))
	}
	slices.Sort(names)
	return strings.Join(names, "\n")
}

var complaint = regexp.MustCompile(`\[E\] .*\n`)

func TestObjectsAmongComplaints(t *testing.T) {
	dump := "File: b\n   type = Metafile, x\n   type = Da[E] too large\n[E] too large\ntafile, x\nFile: [E] too large\na\n   type = Symlink, x\nremaining handles:\n   type = Metafile, x\n"
	assert.Equal(t, "a: Symlink\nb: Metafile Datafile", objects(dump))
}
