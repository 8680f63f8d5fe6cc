package replay_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/replay"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// probesCapture is a capture of messages that no client sends. Those that do not parse are not compared.
const probesCapture = "probes.pcap"

// TestEncodedCuts is TestEncoded with the cuts of the captures, which are part of the module.
func TestEncodedCuts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.gz")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		f, err := os.Open(file)
		require.NoError(t, err)
		sessions, err := replay.ReadCut(f)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		for _, s := range sessions {
			t.Run(s.Name, func(t *testing.T) { sameExchanges(t, s.Exchanges, s.Name == "probes") })
		}
	}
}

// TestEncoded: every message of every captured session is decoded to its last byte, and encoded to the same bytes again.
func TestEncoded(t *testing.T) {
	var files []string
	for _, pattern := range []string{"*.pcap", "ops/*.pcap"} {
		found, err := filepath.Glob(filepath.Join(captures(t), pattern))
		require.NoError(t, err)
		files = append(files, found...)
	}
	requests := make(map[proto.Op]bool)
	messages := 0
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			require.NoError(t, err)
			all, err := replay.Read(raw, 3334, 3335)
			require.NoError(t, err)
			exchanges := replay.Exchanges(all)
			require.NotEmpty(t, exchanges)
			for _, m := range all {
				require.True(t, !m.Garbage || filepath.Base(file) == probesCapture)
			}
			counted := sameExchanges(t, exchanges, filepath.Base(file) == probesCapture)
			messages += counted.messages
			for op := range counted.requests {
				requests[op] = true
			}
		})
	}
	for op := range requests {
		name := strings.ToLower(strings.ReplaceAll(op.String(), "_", ""))
		assert.FileExists(t, filepath.Join("..", "..", "..", "pvfs", "proto", "testdata", "captured", name+".golden"))
	}
	t.Logf("%d messages of %d operations in %d captures", messages, len(requests), len(files))
}

// counted counts the compared messages.
type counted struct {
	messages int
	requests map[proto.Op]bool
}

// sameExchanges decodes and encodes every message. It skips messages of probes that are not requests.
func sameExchanges(t *testing.T, exchanges []*replay.Exchange, probes bool) counted {
	t.Helper()
	c := counted{requests: make(map[proto.Op]bool)}
	odd := 0
	for _, x := range exchanges {
		var req proto.Request
		if _, _, err := proto.ParseRequest(x.Request); err != nil && probes {
			odd++
		} else {
			req = sameRequest(t, x.Request)
			c.requests[req.Op()] = true
			c.messages++
		}
		for i, b := range x.Received {
			if io, ok := req.(*proto.IOReq); ok && io.Type == proto.IORead && i > 0 {
				break // data of the file
			}
			sameResponse(t, b)
			c.messages++
		}
	}
	if probes {
		assert.Equal(t, 7, odd, "probes that cannot be parsed")
	}
	return c
}

func sameRequest(t *testing.T, b []byte) proto.Request {
	t.Helper()
	h, req, err := proto.ParseRequest(b)
	require.NoError(t, err)
	assert.Equal(t, b, proto.AppendRequest(nil, h, req), req.String())
	assert.LessOrEqual(t, len(b), min(proto.MaxRequest(req.Op()), proto.MaxUnexpected))
	return req
}

func sameResponse(t *testing.T, b []byte) {
	t.Helper()
	resp, status, err := proto.ParseAnyResponse(b)
	require.NoError(t, err)
	if status != proto.OK {
		op, _ := proto.OpOf(b)
		assert.Equal(t, b, proto.AppendStatus(nil, op, status), status.Name())
		return
	}
	assert.Equal(t, b, proto.AppendResponse(nil, resp), resp.String())
	assert.LessOrEqual(t, len(b), proto.MaxResponse(resp.Op()))
}
