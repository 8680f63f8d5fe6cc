package program

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFlagsOfTheKit(t *testing.T) {
	var size int
	var big int64
	var wait time.Duration
	var quiet, inJSON bool
	f := pflag.NewFlagSet("x", pflag.ContinueOnError)
	SizeFlag(f, &size, "block", 1<<20, "size of a message")
	SizeFlagP(f, &big, "size", "s", 0, "the new size")
	DurationFlag(f, &wait, "timeout", 3*time.Second, "how long")
	QuietFlag(f, &quiet)
	cmd := &cobra.Command{}
	JSONFlag(cmd, &inJSON, kilnRow{}, record{})
	f.AddFlagSet(cmd.Flags())
	assert.Equal(t, 1<<20, size)
	assert.Equal(t, 3*time.Second, wait)
	help := f.FlagUsages()
	for _, want := range []string{"--block size", "(default 1 MiB)", "-s, --size size", "--timeout time", "(default 3s)", "-q, --quiet"} {
		assert.Contains(t, help, want)
	}
	require.NoError(t, f.Parse([]string{"--timeout", "1.5", "-s", "2TiB", "--block=64KiB", "-q", "--json"}))
	assert.Equal(t, 1500*time.Millisecond, wait)
	assert.EqualValues(t, 2<<40, big)
	assert.Equal(t, 64<<10, size)
	assert.True(t, quiet && inJSON)
	err := FlagErrorOf("tool", f, f.Parse([]string{"--block", "1.5"}))
	assert.ErrorIs(t, err, ErrUsage)
	assert.ErrorContains(t, err, `--block 1.5: bad size "1.5"`)
	assert.ErrorIs(t, NotNegative("timeout", -wait), ErrUsage)
	assert.NoError(t, NotNegative("timeout", wait))
	assert.ErrorContains(t, InRange("window", 0, 1, 64), "--window 0: choose 1 to 64")
	assert.ErrorContains(t, InRange("jobs", 0, 1, -1), "--jobs 0: choose 1 or more")
	assert.NoError(t, InRange("jobs", 99, 1, -1))
}

func TestSchema(t *testing.T) {
	cmd := &cobra.Command{}
	assert.Nil(t, Schema(cmd))
	JSONFlag(cmd, new(bool), kilnRow{}, record{})
	assert.Equal(t, [][]Key{
		{{"name", "text", false}, {"size_bytes", "bytes", true}, {"full_percent", "per cent", true}, {"on", "true or false", true}, {"took_us", "microseconds", true}, {"note", "text", true}, {"key", "number", false}},
		{{"name", "text", false}, {"limit_bytes", "bytes", false}, {"words", "list of text", false}, {"at", "time (RFC 3339)", false}, {"ratio", "number", false}},
	}, Schema(cmd))
}

func TestNear(t *testing.T) {
	names := []string{"timeout", "init-timeout", "np", "n", "hosts", "hostfile", "ppn"}
	for name, want := range map[string][]string{"tiemout": {"timeout"}, "hots": {"hosts"}, "nq": {"np"}, "m": nil, "quux": nil, "host": {"hostfile", "hosts"}} {
		assert.ElementsMatch(t, want, Near(name, names), name)
	}
}

func TestLogOptions(t *testing.T) {
	name := filepath.Join(t.TempDir(), "log")
	f := pflag.NewFlagSet("x", pflag.ContinueOnError)
	var l Log
	l.Flags(f, "warn")
	l.FileFlag(f)
	require.NoError(t, f.Parse([]string{"--log-level", "debug", "--log-format=json", "--log-file", name}))
	log, file, err := l.Open(nil, slog.LevelWarn)
	require.NoError(t, err)
	log.Debug("one")
	require.NoError(t, os.Rename(name, name+".1"))
	require.NoError(t, file.Reopen())
	file.Info(log, "two")
	file.Close()
	for path, want := range map[string]string{name + ".1": "one", name: "two"} {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		var line struct{ Msg string }
		require.NoError(t, json.Unmarshal(text, &line))
		assert.Equal(t, want, line.Msg)
	}
	_, err = file.Write(nil)
	assert.ErrorContains(t, err, "is not open")

	var out bytes.Buffer
	log, file, err = (&Log{Format: "text"}).Open(&out, slog.LevelWarn)
	require.NoError(t, err)
	log.Info("not this")
	file.Info(log, "nor this")
	log.Warn("this")
	assert.Equal(t, 1, strings.Count(out.String(), "\n"), out.String())
	for _, bad := range []Log{{Level: "loud", Format: "text"}, {Format: "xml"}} {
		_, err := bad.Logger(&out, slog.LevelInfo)
		assert.ErrorIs(t, err, ErrUsage)
	}
	_, _, err = (&Log{Format: "text", File: "/no/such/folder/log"}).Open(&out, slog.LevelInfo)
	assert.ErrorIs(t, err, ErrUsage)
}

func TestHelpInGroups(t *testing.T) {
	var out bytes.Buffer
	root := Root(&cobra.Command{Use: "tool", Long: "A tool."}, &out, &out)
	one := &cobra.Command{Use: "one THING", Short: "Do one", Example: "  tool one x", RunE: func(*cobra.Command, []string) error { return nil }}
	one.Flags().Int("count", 3, "how many")
	one.Flags().Bool("fast", false, "be fast")
	Group(one.Flags(), "Speed", "fast")
	CommandGroup(root, "First things", one)
	root.AddCommand(VersionCommand(&out))
	root.SetArgs([]string{"--help"})
	require.NoError(t, root.Execute())
	assert.Contains(t, out.String(), "A tool.\n\nUsage:\n  tool COMMAND [OPTIONS]\n\nFirst things:\n  one ")
	assert.Contains(t, out.String(), "\nOther commands:\n")
	assert.Less(t, strings.Index(out.String(), "First things"), strings.Index(out.String(), "Print the version"))
	out.Reset()
	root.SetArgs([]string{"one", "--help"})
	require.NoError(t, root.Execute())
	assert.Contains(t, out.String(), "Do one\n\nUsage:\n  tool one THING [OPTIONS]\n\nExamples:\n  tool one x\n\nOptions:\n")
	assert.Contains(t, out.String(), "--count int   how many (default 3)")
	assert.Contains(t, out.String(), "\nSpeed:\n      --fast   be fast\n")
}

func TestUnknownVariablesAreReported(t *testing.T) {
	var out bytes.Buffer
	ReportUnknown(&out, "tool", []string{"HOME=/", "VIADUCT_SHM_DIR=/x", "VIADUCT_SHMDIR=/x", "VIADUCT_TEST_X=1", "VIADUCT_COMPLETELY_ELSE=1", "MPI_HOME=/usr"})
	assert.Equal(t, ""+
		"tool: the environment variable VIADUCT_COMPLETELY_ELSE has no effect: there is none of this name\n"+
		"tool: the environment variable VIADUCT_SHMDIR has no effect: there is none of this name; did you mean VIADUCT_SHM_DIR?\n", out.String())
}

func TestEnv(t *testing.T) {
	t.Setenv("VIADUCT_UDP_KEY", "5eed5eed")
	t.Setenv("VIADUCT_SHM_DIR", "/somewhere")
	var out bytes.Buffer
	run := func(args ...string) string {
		out.Reset()
		cmd := EnvCommand(&out)
		cmd.SetArgs(args)
		require.NoError(t, cmd.Execute())
		return out.String()
	}
	assert.Regexp(t, `(?m)^VIADUCT_SHM_DIR +/somewhere `, run())
	assert.NotContains(t, out.String(), "5eed")
	assert.NotContains(t, out.String(), "PMI_RANK")
	assert.Contains(t, run("--all"), "PMI_RANK")
	seen := 0
	for line := range strings.Lines(run("--json")) {
		var v variable
		require.NoError(t, json.Unmarshal([]byte(line), &v))
		if v.Name == "VIADUCT_UDP_KEY" {
			seen++
			assert.Equal(t, hidden, *v.Value)
			assert.True(t, v.Secret)
		}
	}
	assert.Equal(t, 1, seen)
	assert.NotContains(t, out.String(), "5eed")
}
