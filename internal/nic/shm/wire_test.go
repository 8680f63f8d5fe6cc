package shm

import (
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

var updateFlag = flag.Bool("update", false, "write the golden files anew")

// golden compares the bytes made by the code with a file of named vectors in hex.
// A difference is a change of the format: it needs a new version.
func golden(t *testing.T, file string, got map[string]string) {
	t.Helper()
	path := filepath.Join("testdata", file)
	if *updateFlag {
		text, err := json.MarshalIndent(got, "", "  ")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, append(text, '\n'), 0o644))
	}
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var want map[string]string
	require.NoError(t, json.Unmarshal(text, &want))
	require.Equal(t, want, got)
}

var helloVectors = map[string]hello{
	"empty":  {addr: "~1.1"},
	"filled": {rights: rights{tag: 0x01020304, access: nic.AccessRemoteRead | nic.AccessRemoteWrite}, probe: probe{0x1122334455667788, 0x99aabbccddeeff00}, addr: "node-7.rank_3", private: []byte("discriminator")},
}

func TestGoldenRecords(t *testing.T) {
	got := map[string]string{
		"accept":  hex.EncodeToString(accept{rights: rights{tag: 9, access: nic.AccessRemoteRead}, probe: probe{1, 2}, reach: true, addr: "server"}.append(nil)),
		"confirm": hex.EncodeToString(confirm{reach: true}.append(nil)),
		"reject":  hex.EncodeToString(reject{code: codeNone, reason: []byte("no")}.append(nil)),
		"ring":    hex.EncodeToString(ringRecord),
		"bye":     hex.EncodeToString(bye{sent: 0x0102030405060708, code: codeNoDescriptor}.append(nil)),
	}
	for name, h := range helloVectors {
		got["hello "+name] = hex.EncodeToString(h.append(nil))
	}
	golden(t, "records.json", got)
}

func TestGoldenHeaders(t *testing.T) {
	got := map[string]string{}
	for name, h := range map[string]uint64{
		"first, 8 bytes":              makeHeader(0, 8, 0, 0),
		"second lap, 56 bytes":        makeHeader(64, 56, 0, 0),
		"buffered, 8192 bytes":        makeHeader(63, 8192, flagBuffered, 0),
		"immediate, no bytes":         makeHeader(1<<40, 0, flagImmediate, 0xdeadbeef),
		"last lap before it wraps":    makeHeader(64*(1<<15-2), 1, 0, 0),
		"lap 0: the present bit only": makeHeader(64*(1<<15-1), 1, 0, 0),
	} {
		var b [8]byte
		for i := range b {
			b[i] = byte(h >> (56 - 8*i))
		}
		got[name] = hex.EncodeToString(b[:])
	}
	golden(t, "headers.json", got)
}

// TestGoldenLayout checks every offset in docs/internals/protocols/shm.md.
func TestGoldenLayout(t *testing.T) {
	require.Equal(t, []uintptr{4096, 8192, 12288, 536576, 1060864},
		[]uintptr{client.slots(), server.slots(), client.buffers(), server.buffers(), segmentBytes})
	require.Equal(t, []uintptr{2048, 1024, 0, 128, 256, 384},
		[]uintptr{client.block(), server.block(), limitOff, attentionOff, buffersOff, hazardOff})
	require.Equal(t, []int{32, 262144, 0, 8, 16, 24},
		[]int{entryBytes, tableBytes, entryHandle, entryAddr, entryLen, entryRights})
}

func TestRecordsRoundTripAndTruncated(t *testing.T) {
	for name, h := range helloVectors {
		b := h.append(nil)
		back, err := parseHello(b)
		require.NoError(t, err, name)
		require.Equal(t, string(h.private), string(back.private))
		back.private = h.private
		require.Equal(t, h, back)
		for i := range b {
			_, err := parseHello(b[:i])
			require.ErrorIs(t, err, nic.ErrProtocol, "%s cut to %d bytes", name, i)
		}
	}
	a := accept{rights: rights{tag: 3, access: nic.AccessRemoteWrite}, probe: probe{5, 6}, reach: true, addr: "x"}
	back, err := parseAccept(a.append(nil))
	require.NoError(t, err)
	require.Equal(t, a, back)
	for i := range a.append(nil) {
		_, err := parseAccept(a.append(nil)[:i])
		require.ErrorIs(t, err, nic.ErrProtocol)
	}
	r, err := parseReject(reject{code: 2, reason: []byte("why")}.append(nil))
	require.NoError(t, err)
	require.Equal(t, reject{code: 2, reason: []byte("why")}, r)
	y, err := parseBye(bye{sent: 4, code: 5}.append(nil))
	require.NoError(t, err)
	require.Equal(t, bye{sent: 4, code: 5}, y)
	c, err := parseConfirm(confirm{reach: true}.append(nil))
	require.NoError(t, err)
	require.Equal(t, confirm{reach: true}, c)
	for n := range byeBytes {
		_, err := parseBye(bye{}.append(nil)[:n])
		require.Error(t, err)
		if n != confirmBytes {
			_, err = parseConfirm(make([]byte, n))
			require.Error(t, err)
		}
	}
}

// TestHeaderIsNewOnce: over many laps a slot's header counts as new for exactly
// the message for which it was written, and earlier contents never do.
func TestHeaderIsNewOnce(t *testing.T) {
	for _, start := range []uint64{0, 64*(1<<15-3) - 5, 1<<32 - 100, 1<<48 - 64} {
		for i := start; i < start+1000; i++ {
			h := makeHeader(i, 8, 0, 0)
			require.Equal(t, stamp(i), uint16(h>>stampShift))
			require.NotEqual(t, stamp(i+ringSlots), uint16(h>>stampShift))
			require.True(t, slotIsOld(h, i+ringSlots))
			require.False(t, slotIsOld(h, i+2*ringSlots))
			require.NotZero(t, stamp(i), "a zeroed slot would be a message")
		}
	}
	require.True(t, slotIsOld(0, 5))
	require.False(t, slotIsOld(1, 5))
}

func FuzzHello(f *testing.F) {
	for _, h := range helloVectors {
		f.Add(h.append(nil))
	}
	f.Add(accept{addr: "server"}.append(nil))
	f.Add(reject{reason: []byte("no")}.append(nil))
	f.Add(ringRecord)
	f.Add(bye{}.append(nil))
	f.Add(confirm{}.append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		if h, err := parseHello(b); err == nil {
			require.Equal(t, b, h.append(nil))
		}
		if kind, err := parsePrefix(b); err != nil || kind == kindHello {
			return
		}
		if a, err := parseAccept(b); err == nil && b[6] == byte(kindAccept) {
			require.Equal(t, b, a.append(nil))
		}
		if r, err := parseReject(b); err == nil && b[6] == byte(kindReject) {
			require.Equal(t, b, r.append(nil))
		}
		if y, err := parseBye(b); err == nil && b[6] == byte(kindBye) {
			require.Equal(t, b, y.append(nil))
		}
		if c, err := parseConfirm(b); err == nil && b[6] == byte(kindConfirm) {
			require.Equal(t, b, c.append(nil))
		}
	})
}

// FuzzHeader: with any contents of a slot, the payload is within the slot or buffer, and only
// headers that a sender can write are accepted.
func FuzzHeader(f *testing.F) {
	f.Add(makeHeader(0, 8, 0, 0), uint64(0))
	f.Add(makeHeader(100, 8192, flagBuffered|flagImmediate, 7), uint64(100))
	f.Add(^uint64(0), uint64(1))
	f.Fuzz(func(t *testing.T, h, index uint64) {
		length := headerLength(h)
		if length < 0 {
			return
		}
		if h&flagBuffered != 0 {
			require.Greater(t, length, InlineBytesMax, "lent, although it fits the slot")
			require.LessOrEqual(t, length, MTUBytes)
		} else {
			require.LessOrEqual(t, length, InlineBytesMax)
		}
		if uint16(h>>stampShift) == stamp(index) {
			require.Equal(t, h, makeHeader(index, length, h&(flagBuffered|flagImmediate), uint32(h)))
		}
	})
}
