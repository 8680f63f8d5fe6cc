package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	_ "github.com/viaduct-hpc/viaduct/bmi/bmitest"
	"github.com/viaduct-hpc/viaduct/internal/logtext"
	"github.com/viaduct-hpc/viaduct/internal/need"
	"github.com/viaduct-hpc/viaduct/internal/perf"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
)

func TestMain(m *testing.M) {
	servePlugin()
	// The limit tests start this program again as `bmi perf-follow`, the check of a
	// plugin as `bmi plugins peer`; go test gives it flags alone.
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		app := &App{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
		os.Exit(app.Main(context.Background(), os.Args[1:]))
	}
	goleak.VerifyTestMain(m)
}

const waitMax = wallclock.Patience

var names atomic.Int64

func newAddress() string { return fmt.Sprintf("mem://cli-%d", names.Add(1)) }

// run is one execution of the command within this process.
type run struct {
	out, err logtext.Buffer
	code     int
	done     chan struct{}
	stop     context.CancelFunc
}

func start(t *testing.T, in *os.File, args ...string) *run {
	t.Helper()
	r := &run{done: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	r.stop = cancel
	t.Cleanup(cancel)
	app := &App{In: in, Out: &r.out, Err: &r.err}
	go func() {
		defer close(r.done)
		r.code = app.Main(ctx, args)
	}()
	return r
}

func (r *run) wait(t *testing.T) *run {
	t.Helper()
	select {
	case <-r.done:
	case <-time.After(waitMax):
		require.FailNow(t, "the command hangs", r.err.String())
	}
	return r
}

func bmiRun(t *testing.T, args ...string) *run {
	t.Helper()
	in, err := os.Open(os.DevNull)
	require.NoError(t, err)
	defer func() { require.NoError(t, in.Close()) }()
	return start(t, in, args...).wait(t)
}

func TestMistakesGetHelpfulErrors(t *testing.T) {
	for line, want := range map[string]string{
		"prf":                                 `unknown command "prf"; did you mean perf?`,
		"sned x":                              `did you mean send?`,
		"perf":                                "bmi perf takes one METHOD or ADDR, not 0 arguments",
		"perf nothing":                        `unknown method "nothing"; available: mem`,
		"perf nothing://x":                    `unknown method "nothing"; available: mem`,
		"perf mem --sizes 1TiB":               `bad size "1TiB"`,
		"perf mem --tests latncy":             `unknown test "latncy": choose from limit-bounce`,
		"perf mem --memory fast":              `bad --memory "fast"`,
		"perf mem --window 0":                 "--window 0: choose 1 to",
		"perf mem --pin x":                    `bad --pin "x"`,
		"perf mem --time 0s":                  "bad --time",
		"perf mem://x --listen mem://y":       "--listen is for",
		"perf mem --nosuch":                   "bmi perf has no option --nosuch",
		"info -test.v":                        "bmi info has no option -test.v",
		"info -sim.seeds=1":                   "bmi info has no option -sim.seeds",
		"recv mem://x -quiet":                 "bmi recv has no option -quiet: write --quiet",
		"perf mem -json":                      "bmi perf has no option -json: write --json",
		"-log-level debug info":               "bmi has no option -log-level: write --log-level",
		"ping name":                           `bad address "name": an address looks like mem://NAME`,
		"ping mem://":                         "what follows :// is missing; an address looks like mem://NAME",
		"ping mem://x --size 1MiB --count -1": "cannot be negative",
		"send mem://x --block 1.5":            `bad size "1.5"`,
		"send":                                "an ADDR and perhaps a FILE",
		"send mem://x .":                      "is a directory; try: tar c . | bmi send ADDR",
		"recv":                                "bmi recv takes one ADDR",
		"info nothing":                        `unknown method "nothing"`,
		"version 1":                           "no arguments",
		"serve mem://x y":                     "one ADDR",
		"recv nothing://x -o /no/such/folder": `unknown method "nothing"`,
	} {
		r := bmiRun(t, strings.Fields(line)...)
		assert.Equal(t, ExitUsage, r.code, line)
		assert.Contains(t, r.err.String(), want, line)
		assert.Contains(t, r.err.String(), "bmi help", line)
		assert.Empty(t, r.out.String(), line)
	}
}

func TestHelpAndVersion(t *testing.T) {
	r := bmiRun(t)
	assert.Equal(t, ExitOK, r.code)
	for _, command := range []string{"info", "ping", "serve", "perf", "send", "recv", "plugins", "version", "completion", "Exit codes: 0 success"} {
		assert.Contains(t, r.out.String(), command)
	}
	assert.NotContains(t, r.out.String(), "perf-follow")

	r = bmiRun(t, "version")
	assert.Equal(t, ExitOK, r.code)
	assert.Regexp(t, `^bmi \S+ go\S+ linux/\w+\n$`, r.out.String())

	r = bmiRun(t, "completion", "bash")
	assert.Equal(t, ExitOK, r.code)
	assert.Contains(t, r.out.String(), "bash completion")
}

func TestInfo(t *testing.T) {
	r := bmiRun(t, "info")
	assert.Equal(t, ExitOK, r.code)
	assert.Contains(t, r.out.String(), "largest message")

	r = bmiRun(t, "info", "mem", "--json")
	require.Equal(t, ExitOK, r.code)
	var got map[string]any
	require.NoError(t, json.Unmarshal([]byte(r.out.String()), &got))
	assert.Equal(t, "mem", got["method"])
	assert.Equal(t, "memory", got["provider"])
	assert.EqualValues(t, 64<<20, got["max_expected_bytes"])
	assert.Equal(t, true, got["registered_memory"])
	assert.NotContains(t, got, "error")
}

func serveInProcess(t *testing.T) string {
	t.Helper()
	address := newAddress()
	in, err := os.Open(os.DevNull)
	require.NoError(t, err)
	server := start(t, in, "serve", address)
	t.Cleanup(func() {
		server.stop()
		assert.Equal(t, ExitOK, server.wait(t).code, server.err.String())
		require.NoError(t, in.Close())
	})
	require.Eventually(t, func() bool { return strings.Contains(server.err.String(), "serving at "+address) }, waitMax, time.Millisecond)
	return address
}

func TestPing(t *testing.T) {
	address := serveInProcess(t)
	r := bmiRun(t, "ping", address, "--count", "3", "--interval=1ms", "--size", "1KiB")
	assert.Equal(t, ExitOK, r.code, r.err.String())
	assert.Contains(t, r.out.String(), "1 KiB from "+address+": ping 3, ")
	assert.Contains(t, r.out.String(), "3 answered; round trip least")

	r = bmiRun(t, "ping", address, "--size", "1MiB")
	assert.Equal(t, ExitUsage, r.code)
	assert.Contains(t, r.err.String(), "a ping carries at most")
}

// TestRoundTrips: the median of an even number is between the two in the middle.
func TestRoundTrips(t *testing.T) {
	const us = time.Microsecond
	assert.Equal(t, "4 answered; round trip least 1.00 us, median 3.00 us, most 100.00 us", roundTrips([]time.Duration{2 * us, 100 * us, 4 * us, us}))
	assert.Equal(t, "1 answered; round trip least 2.00 us, median 2.00 us, most 2.00 us", roundTrips([]time.Duration{2 * us}))
}

func TestPingNobody(t *testing.T) {
	r := bmiRun(t, "ping", "mem://nobody")
	assert.Equal(t, ExitNobody, r.code)
	assert.Contains(t, r.err.String(), "nobody answers at mem://nobody")
	assert.Empty(t, r.out.String())
}

func TestPingOneThatDoesNotAnswer(t *testing.T) {
	address := newAddress()
	out := filepath.Join(t.TempDir(), "out")
	in, err := os.Open(os.DevNull)
	require.NoError(t, err)
	defer func() { require.NoError(t, in.Close()) }()
	receiver := start(t, in, "recv", address, "-o", out)
	// The first tries may come before the receiver listens.
	require.Eventually(t, func() bool {
		r := bmiRun(t, "ping", address, "--timeout", "20ms")
		if r.code == ExitNobody {
			return false
		}
		assert.Equal(t, ExitBusy, r.code)
		assert.Contains(t, r.err.String(), "connected, but no answer within 20ms: the process there is busy")
		return true
	}, waitMax, time.Millisecond)
	receiver.stop()
	assert.Equal(t, ExitInterrupted, receiver.wait(t).code)
	assert.NoFileExists(t, out)
}

func TestPerfJSONLines(t *testing.T) {
	address := serveInProcess(t)
	r := bmiRun(t, "perf", address, "--json", "--time", "1ms", "--sizes", "0,8", "--sizes=4KiB", "--tests", "latency,rate", "--tests", "bandwidth", "--tests", "bidirectional", "--window", "4", "--memory", "registered")
	require.Equal(t, ExitOK, r.code, r.err.String())
	var got []string
	for line := range strings.Lines(r.out.String()) {
		var fields map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &fields), line)
		for _, name := range []string{"test", "method", "size", "window", "median", "p99", "unit"} {
			require.Contains(t, fields, name)
		}
		require.Len(t, fields, 7)
		assert.Equal(t, "mem", fields["method"])
		assert.Positive(t, fields["median"])
		got = append(got, fmt.Sprint(fields["test"], " ", fields["size"], " ", fields["window"], " ", fields["unit"]))
	}
	assert.Equal(t, []string{
		"latency 0 1 us", "latency 8 1 us", "latency 4096 1 us",
		"rate 0 4 msg/s", "rate 8 4 msg/s", "rate 4096 4 msg/s",
		"bandwidth 8 4 MB/s", "bandwidth 4096 4 MB/s",
		"bidirectional 8 4 MB/s", "bidirectional 4096 4 MB/s",
	}, got)
}

func TestPerfOfAnAddressHasNoLimitsUnlessAsked(t *testing.T) {
	p, err := planPerf("mem://x", perfOptions{memory: "plain", window: 1, time: time.Second})
	require.NoError(t, err)
	assert.Equal(t, []perf.Test{perf.Latency, perf.Rate, perf.Bandwidth, perf.Bidirectional}, p.tests)
	p, err = planPerf("mem", perfOptions{memory: "plain", window: 1, time: time.Second})
	require.NoError(t, err)
	assert.Equal(t, []perf.Test{perf.LimitBounce, perf.LimitMemcpy, perf.Latency, perf.Rate, perf.Bandwidth, perf.Bidirectional}, p.tests)
	for _, test := range append(p.tests, perf.LimitSocket, perf.LimitUDP) {
		sizes := p.sizesOf(test)
		assert.NotEmpty(t, sizes, test)
		if test != perf.Rate && test != perf.LimitBounce {
			assert.Equal(t, 64<<20, sizes[len(sizes)-1], test)
		}
	}
}

func TestPerfTable(t *testing.T) {
	address := serveInProcess(t)
	r := bmiRun(t, "perf", address, "--time", "1ms", "--sizes", "8,64KiB", "--tests", "latency", "--pin", "off")
	require.Equal(t, ExitOK, r.code, r.err.String())
	lines := strings.Split(strings.TrimSpace(r.out.String()), "\n")
	require.Len(t, lines, 3)
	assert.Equal(t, []string{"TEST", "METHOD", "SIZE", "WINDOW", "MEDIAN", "P99", "UNIT"}, strings.Fields(lines[0]))
	assert.Contains(t, lines[2], "64 KiB")
	assert.Equal(t, strings.Index(lines[0], "UNIT"), strings.LastIndex(lines[1], "us"), "columns are aligned")
}

func TestPerfLimits(t *testing.T) {
	if cores, err := perf.AllowedCores(); err != nil || len(cores) < 2 {
		need.Unless(t, need.Cores, errors.New("this needs two"))
	}
	r := bmiRun(t, "perf", "mem", "--json", "--time", "2ms", "--tests", "limit,limit-socket,limit-udp", "--sizes", "0,4KiB")
	require.Equal(t, ExitOK, r.code, r.err.String())
	assert.Contains(t, r.out.String(), `{"test":"limit-bounce","method":"bare","size":0,"window":1,`)
	assert.Contains(t, r.out.String(), `{"test":"limit-memcpy","method":"bare","size":4096,"window":1,`)
	assert.Contains(t, r.out.String(), `{"test":"limit-socket","method":"bare","size":4096,"window":1,`)
	assert.Contains(t, r.out.String(), `{"test":"limit-udp","method":"bare","size":4096,"window":1,`)
	assert.Equal(t, 4, strings.Count(r.out.String(), "\n"))
}

// TestPerfChecksSizesFirst: a size over the limit of the method is refused before anything is measured.
func TestPerfChecksSizesFirst(t *testing.T) {
	r := bmiRun(t, "perf", "mem", "--tests", "limit-bounce,latency", "--sizes", "8,1GiB", "--time", "1ms")
	assert.Equal(t, ExitUsage, r.code)
	assert.Contains(t, r.err.String(), "--sizes 1 GiB, but messages of mem have at most 64 MiB")
	assert.Empty(t, r.out.String())
}

func TestPerfNobody(t *testing.T) {
	r := bmiRun(t, "perf", "mem://nobody", "--tests", "latency")
	assert.Equal(t, ExitNobody, r.code)
	assert.Contains(t, r.err.String(), "nobody answers at mem://nobody")
}
