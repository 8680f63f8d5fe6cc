package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/internal/watch"
	"github.com/viaduct-hpc/viaduct/internal/watch/view"
	"github.com/viaduct-hpc/viaduct/internal/watch/watchtest"
)

func TestTopOnce(t *testing.T) {
	dir := t.TempDir()
	watchtest.Serve(t, dir, "node1-4711.sock", func(second int) *watch.Snapshot { return watchtest.Client(30, second) })
	r := start(t, nil, "top", "--interval", "500ms", "--limit", "2", "--filter", "round-trip>5ms", "dir:"+dir).wait(t)
	require.Equal(t, program.ExitOK, r.code, r.err.String())
	lines := strings.Split(strings.TrimSpace(r.out.String()), "\n")
	require.Len(t, lines, 2, r.out.String())
	assert.Regexp(t, `^PEER +METHOD +STATE +CREDITS`, lines[0])
	assert.Regexp(t, `^via\+udp://10\.0\.0\.8:7000 .* 8\.00 MiB/s `, lines[1])

	t.Setenv(metricsVariable, "dir:"+dir)
	r = start(t, nil, "top", "--json", "--interval", "500ms").wait(t)
	require.Equal(t, program.ExitOK, r.code, r.err.String())
	var v view.View
	require.NoError(t, json.Unmarshal([]byte(r.out.String()), &v))
	assert.Equal(t, 30, v.Peers.Known)
}

// TestTopWithNobody: one view of no process fails, and says where top looked.
func TestTopWithNobody(t *testing.T) {
	t.Setenv(metricsVariable, "")
	empty, missing, socket := t.TempDir(), filepath.Join(t.TempDir(), "missing"), filepath.Join(t.TempDir(), "s")
	for _, c := range []struct {
		args, says []string
	}{
		{[]string{"dir:" + empty}, []string{"bmi: nobody answers at dir:" + empty + ": no process has a socket there; "}},
		{[]string{"dir:" + missing}, []string{"at dir:" + missing + ": open " + missing + ": no such file or directory; "}},
		{[]string{"unix:" + socket}, []string{"at unix:" + socket + ": nobody listens there; "}},
		{[]string{"--json", "unix:" + socket, "dir:" + empty}, []string{"at unix:" + socket + ", dir:" + empty + ": unix:" + socket + ": "}},
	} {
		r := start(t, nil, append([]string{"top", "--once", "--interval", "500ms"}, c.args...)...).wait(t)
		assert.Equal(t, program.ExitNobody, r.code, c.args)
		for _, want := range append(c.says, "processes show what they do where VIADUCT_METRICS of their environment says") {
			assert.Contains(t, r.err.String(), want)
		}
		assert.Empty(t, r.out.String(), c.args)
	}
}

func TestTopMistakes(t *testing.T) {
	t.Setenv(metricsVariable, "")
	for line, want := range map[string]string{
		"top":                    "name the processes to watch",
		"top here":               `"here" is no address of metrics: want HOST:PORT, unix:PATH or dir:PATH`,
		"top --view x :1":        "--view x: want peers, servers, jobs or processes",
		"top --sort x :1":        `there is no such column`,
		"top --interval 1ms :1":  "--interval 1ms: want 500ms or more",
		"top --web x :1":         "--web x: want HOST:PORT",
		"top --web :1 --json :1": "--web cannot be had with --once or --json",
	} {
		r := start(t, nil, strings.Fields(line)...).wait(t)
		assert.Equal(t, program.ExitUsage, r.code, line)
		assert.Contains(t, r.err.String(), want, line)
	}
}

func TestTopWeb(t *testing.T) {
	path := watchtest.Serve(t, t.TempDir(), "s", func(second int) *watch.Snapshot { return watchtest.Server("io1", second) })
	r := start(t, nil, "top", "--web", "127.0.0.1:0", "unix:"+path)
	var url string
	require.Eventually(t, func() bool {
		url = regexp.MustCompile(`http://[0-9.:]+/`).FindString(r.err.String())
		return url != ""
	}, waitMax, time.Millisecond)
	for name, want := range map[string]string{"": "<title>Viaduct</title>", "view": `"Alias":"io1"`} {
		resp, err := http.Get(url + name)
		require.NoError(t, err)
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		assert.Contains(t, string(text), want)
	}
	http.DefaultClient.CloseIdleConnections()
	r.stop()
	require.Equal(t, program.ExitInterrupted, r.wait(t).code)
}
