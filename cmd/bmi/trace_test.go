package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/cli"
)

// traceEvents reads a trace as any reader of JSON would.
func traceEvents(t *testing.T, name string) (all []map[string]any) {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	if !bytes.HasSuffix(text, []byte("\n]\n")) { // the process was killed between two system calls
		text = append(text[:bytes.LastIndex(text, []byte(",\n"))], "\n]"...)
	}
	require.NoError(t, json.Unmarshal(text, &all))
	return all
}

// TestTraceOfAKilledProcess: what a process had traced when it was killed can be read, and joined with the trace of its peer.
func TestTraceOfAKilledProcess(t *testing.T) { overEach(t, killTraced) }

func killTraced(t *testing.T, newAddress func() string) {
	dir, address := t.TempDir(), newAddress()
	killed, other, out := filepath.Join(dir, "serve.json"), filepath.Join(dir, "ping.json"), filepath.Join(dir, "job.json")
	serve := command(t, "serve", address, "--trace", killed).start()
	require.Eventually(t, func() bool {
		return command(t, "ping", address, "--count", "3", "--interval", "1ms", "--trace", other).start().wait() == cli.ExitOK
	}, waitMax, 10*time.Millisecond)
	require.Eventually(t, func() bool {
		text, err := os.ReadFile(killed)
		require.NoError(t, err)
		return bytes.Contains(text, []byte(`"name":"send"`)) && bytes.Contains(text, []byte(`"name":"unexpected"`))
	}, waitMax, 10*time.Millisecond)
	require.NoError(t, serve.cmd.Process.Kill())
	require.NotEqual(t, cli.ExitOK, serve.wait())
	require.NotEmpty(t, traceEvents(t, killed))

	join := command(t, "trace", "join", dir, "-o", out, "--json").start()
	require.Equal(t, cli.ExitOK, join.wait(), join.err.String())
	var did struct{ Files, Messages int }
	require.NoError(t, json.Unmarshal(join.out.Bytes(), &did))
	assert.Equal(t, 2, did.Files)
	assert.GreaterOrEqual(t, did.Messages, 2, "a request and an answer")
	arrows := map[any]int{}
	for _, e := range traceEvents(t, out) {
		if id := e["bind_id"]; id != nil {
			arrows[id]++
		}
	}
	require.Len(t, arrows, did.Messages)
	for id, ends := range arrows {
		assert.Equal(t, 2, ends, "arrow %v", id)
	}
	summary := command(t, "trace", "summary", out).start()
	require.Equal(t, cli.ExitOK, summary.wait(), summary.err.String())
	assert.Regexp(t, `bmi send unexpected +3 +0`, summary.out.String())
}

// TestTraceVariable: the variable works for any program, and says what is wrong with it.
func TestTraceVariable(t *testing.T) {
	dir := t.TempDir()
	run := func(value string) *process {
		p := command(t, "ping", "via+shm://absent", "--count", "1")
		p.cmd.Env = append(p.cmd.Env, "VIADUCT_TRACE="+value)
		return p.start()
	}
	require.Equal(t, cli.ExitNobody, run(filepath.Join(dir, "ping-%p.json")).wait())
	found, err := filepath.Glob(filepath.Join(dir, "ping-*.json"))
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.NotContains(t, found[0], "%")
	require.NotEmpty(t, traceEvents(t, found[0]))

	letter := filepath.Join(dir, "letter")
	require.NoError(t, os.WriteFile(letter, []byte("Dear reader"), 0o600))
	for value, want := range map[string]string{letter: "is no trace", dir + "/%x": "%x", dir + "/no/such/t.json": "no such file"} {
		p := run(value)
		require.Equal(t, cli.ExitFailed, p.wait())
		assert.Contains(t, p.err.String(), "VIADUCT_TRACE: ")
		assert.Contains(t, p.err.String(), want)
	}
}

// TestMistakesWithTraces says what to do.
func TestMistakesWithTraces(t *testing.T) {
	dir := t.TempDir()
	letter := filepath.Join(dir, "letter.json")
	require.NoError(t, os.WriteFile(letter, []byte("Dear reader"), 0o600))
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"trace", "join", letter}, "where to? Give -o OUT"},
		{[]string{"trace", "join", letter, "-o", letter}, "read and written"},
		{[]string{"trace", "join", letter, "-o", filepath.Join(dir, "out")}, "no trace of Viaduct"},
		{[]string{"trace", "join", "/no/such", "-o", filepath.Join(dir, "out")}, "no such file"},
		{[]string{"trace", "summary", letter}, "line 1: it does not begin"},
		{[]string{"trace", "summary", t.TempDir()}, "no traces (*.json) are in it"},
		{[]string{"trace", "summary", letter, "--top", "-1"}, "bad --top"},
		{[]string{"trace", "sumary", letter}, "did you mean summary?"},
		{[]string{"ping", "via+shm://x", "--trace", letter}, "--trace: " + letter + " exists and is no trace"},
	} {
		p := command(t, c.args...).start()
		assert.Equal(t, cli.ExitUsage, p.wait(), "%v", c.args)
		assert.Contains(t, p.err.String(), c.want)
	}
	assert.NoFileExists(t, filepath.Join(dir, "out"))
}

// TestPerfTracesBothSides: the process that perf starts has a file of its own.
func TestPerfTracesBothSides(t *testing.T) {
	dir := t.TempDir()
	p := command(t, "perf", "via+shm", "--tests", "latency", "--sizes", "8", "--time", "2ms", "--pin", "off", "--trace", filepath.Join(dir, "p.json")).start()
	require.Equal(t, cli.ExitOK, p.wait(), p.err.String())
	require.NotEmpty(t, traceEvents(t, filepath.Join(dir, "p.json")))
	require.NotEmpty(t, traceEvents(t, filepath.Join(dir, "p.peer.json")))
}
