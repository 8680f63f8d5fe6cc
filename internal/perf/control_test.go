package perf

import (
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var runRequest = request{kind: kindRun, test: Bandwidth, registered: true, size: 1 << 20, steps: 1000, window: 64, tag: 0x0a0b0c0d}

func TestRequestGolden(t *testing.T) {
	for _, c := range []struct {
		r    request
		tail string
		hex  string
	}{
		{runRequest, "", "56445046" + "01020301" + "0000100000000000" + "e803000000000000" + "40000000" + "0d0c0b0a"},
		{request{kind: kindPing, size: 2, tag: 7}, "hi", "56445046" + "01010000" + "0200000000000000" + "0000000000000000" + "00000000" + "07000000" + "6869"},
	} {
		b := append(c.r.append(nil), c.tail...)
		assert.Equal(t, c.hex, hex.EncodeToString(b))
		got, payload, err := parseRequest(b)
		require.NoError(t, err)
		assert.Equal(t, c.r, got)
		assert.Equal(t, c.tail, string(payload))
		for n := range len(b) {
			_, _, err := parseRequest(b[:n])
			require.ErrorIs(t, err, errFormat, "prefix of %d bytes", n)
		}
	}
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
	assert.Equal(t, "5644504601000000", hex.EncodeToString(ok))
	require.NoError(t, parseReply(ok))

	no := appendReply(nil, errors.New("no room"))
	assert.Equal(t, "5644504601010700"+hex.EncodeToString([]byte("no room")), hex.EncodeToString(no))
	assert.EqualError(t, parseReply(no), `perf: the server refused: "no room"`)
	for n := range len(no) {
		require.ErrorIs(t, parseReply(no[:n]), errFormat)
	}
	long := appendReply(nil, errors.New(strings.Repeat("x", 1000)))
	assert.Len(t, long, replyBytes+replyTextMax)
}

func FuzzRequest(f *testing.F) {
	f.Add(runRequest.append(nil))
	f.Add(append(request{kind: kindPing, size: 2}.append(nil), "hi"...))
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
