package perf

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/golden"
)

var runRequest = request{kind: kindRun, test: Bandwidth, registered: true, size: 1 << 20, steps: 1000, window: 64, tag: 0x0a0b0c0d}

var pingRequest = append(request{kind: kindPing, size: 2, tag: 7}.append(nil), "hi"...)

func TestGoldenBytes(t *testing.T) {
	golden.CheckVectors(t, "testdata/control.golden", []golden.Vector{
		{Name: "run", Comment: "Bandwidth of 1 MiB in registered memory, 1000 windows of 64.", Bytes: runRequest.append(nil)},
		{Name: "ping", Comment: "A payload of two bytes, hi.", Bytes: pingRequest},
		{Name: "ready", Bytes: appendReply(nil, nil)},
		{Name: "refused", Comment: "no room", Bytes: appendReply(nil, errors.New("no room"))},
	})
}

func TestRequestsAreReadAndTheirPrefixesRejected(t *testing.T) {
	for _, b := range [][]byte{runRequest.append(nil), pingRequest} {
		got, payload, err := parseRequest(b)
		require.NoError(t, err)
		assert.Equal(t, b, append(got.append(nil), payload...))
		for n := range len(b) {
			_, _, err := parseRequest(b[:n])
			require.ErrorIs(t, err, errFormat, "prefix of %d bytes", n)
		}
	}
	got, _, err := parseRequest(runRequest.append(nil))
	require.NoError(t, err)
	assert.Equal(t, runRequest, got)
}

func TestRequestRejects(t *testing.T) {
	for name, change := range map[string]func(b []byte) []byte{
		"magic":      func(b []byte) []byte { b[0] = 'X'; return b },
		"version":    func(b []byte) []byte { b[4] = 2; return b },
		"kind":       func(b []byte) []byte { b[5] = 9; return b },
		"no test":    func(b []byte) []byte { b[6] = 0; return b },
		"test":       func(b []byte) []byte { b[6] = 5; return b },
		"memory":     func(b []byte) []byte { b[7] = 2; return b },
		"size":       func(b []byte) []byte { b[15] = 1; return b },
		"steps":      func(b []byte) []byte { b[23] = 1; return b },
		"no steps":   func(b []byte) []byte { copy(b[16:24], make([]byte, 8)); return b },
		"window":     func(b []byte) []byte { b[27] = 1; return b },
		"no window":  func(b []byte) []byte { copy(b[24:28], make([]byte, 4)); return b },
		"all memory": func(b []byte) []byte { b[11], b[25] = 2, 16; return b },
		"trailing":   func(b []byte) []byte { return append(b, 0) },
	} {
		_, _, err := parseRequest(change(runRequest.append(nil)))
		assert.ErrorIs(t, err, errFormat, name)
	}
}

func TestReply(t *testing.T) {
	ok := appendReply(nil, nil)
	require.NoError(t, parseReply(ok))

	no := appendReply(nil, errors.New("no room"))
	assert.EqualError(t, parseReply(no), `perf: the server refused: "no room"`)
	for n := range len(no) {
		require.ErrorIs(t, parseReply(no[:n]), errFormat)
	}
	long := appendReply(nil, errors.New(strings.Repeat("x", 1000)))
	assert.Len(t, long, replyBytes+replyTextMax)
}

func FuzzRequest(f *testing.F) {
	f.Add(runRequest.append(nil))
	f.Add(pingRequest)
	f.Add(appendReply(nil, errors.New("no")))
	f.Fuzz(func(t *testing.T, b []byte) {
		_ = parseReply(b)
		r, payload, err := parseRequest(b)
		if err != nil {
			return
		}
		require.Equal(t, b, append(r.append(nil), payload...), "what is accepted is written back as it was")
	})
}
