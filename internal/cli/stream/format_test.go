package stream

import (
	"crypto/sha256"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/golden"
)

const testSession = 0x1122334455667788

var (
	testOffer   = offer{session: testSession, total: 0x10000, block: 1 << 20, blocks: 4}
	testAnswer  = reply{kind: kindAnswer, session: testSession}
	testVerdict = reply{kind: kindVerdict, session: testSession, bytes: 258, refused: true, text: "disk full"}
)

func testBlock(kind byte, sequence uint64, payload string) []byte {
	b := append(make([]byte, headerBytes), payload...)
	header{kind: kind, length: len(payload), sequence: sequence, session: testSession}.put(b)
	return b
}

func testEnd(total int64) []byte {
	payload := make([]byte, endBytes)
	putEnd(payload, total, sha256.Sum256(nil))
	return testBlock(kindEnd, 5, string(payload))
}

func TestGoldenBytes(t *testing.T) {
	golden.CheckVectors(t, "testdata/stream.golden", []golden.Vector{
		{Name: "offer", Comment: "A stream of 64 KiB, 4 blocks of 1 MiB under way.", Bytes: testOffer.append(nil)},
		{Name: "offer-unknown", Comment: "A stream of unknown length, in the smallest window.", Bytes: offer{session: 1, total: -1, block: 256, blocks: 1}.append(nil)},
		{Name: "answer", Bytes: testAnswer.append(nil)},
		{Name: "verdict", Comment: "Failed after 258 bytes: disk full.", Bytes: testVerdict.append(nil)},
		{Name: "data", Comment: "Block 3, abc.", Bytes: testBlock(kindData, 3, "abc")},
		{Name: "end", Comment: "Block 5: the stream had 9 bytes, with the SHA-256 of none.", Bytes: testEnd(9)},
		{Name: "abort", Comment: "Block 5: the input failed.", Bytes: testBlock(kindAbort, 5, "the input failed")},
	})
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	o, err := parseOffer(testOffer.append(nil))
	require.NoError(t, err)
	assert.Equal(t, testOffer, o)

	for _, r := range []reply{testAnswer, testVerdict} {
		got, err := parseReply(r.append(nil), r.kind, testSession)
		require.NoError(t, err)
		assert.Equal(t, r, got)
	}
	long := reply{kind: kindVerdict, refused: true, text: strings.Repeat("x", 1000)}
	got, err := parseReply(long.append(nil), kindVerdict, 0)
	require.NoError(t, err)
	assert.Len(t, got.text, textBytesMax)

	h, payload, err := parseBlock(testEnd(9), 1024, testSession, 5)
	require.NoError(t, err)
	assert.EqualValues(t, kindEnd, h.kind)
	total, sum := parseEnd(payload)
	assert.EqualValues(t, 9, total)
	assert.Equal(t, sha256.Sum256(nil), sum)
}

func TestEveryTruncatedPrefixIsRejected(t *testing.T) {
	whole := testOffer.append(nil)
	for n := range len(whole) {
		_, err := parseOffer(whole[:n])
		require.ErrorIs(t, err, ErrFormat)
	}
	whole = testVerdict.append(nil)
	for n := range len(whole) {
		_, err := parseReply(whole[:n], kindVerdict, testSession)
		require.ErrorIs(t, err, ErrFormat)
	}
	for _, whole := range [][]byte{testBlock(kindData, 5, "abc"), testEnd(9)} {
		for n := range len(whole) {
			_, _, err := parseBlock(whole[:n], 1024, testSession, 5)
			require.ErrorIs(t, err, ErrFormat)
		}
	}
}

func TestForbiddenBytesAreRejected(t *testing.T) {
	change := func(b []byte, at int, to byte) []byte { b[at] = to; return b }
	for name, b := range map[string][]byte{
		"magic": change(testOffer.append(nil), 0, 'X'), "version": change(testOffer.append(nil), 4, 2),
		"kind": change(testOffer.append(nil), 5, 2), "reserved": change(testOffer.append(nil), 7, 1),
		"total": change(testOffer.append(nil), 23, 0x7f), "large block": change(testOffer.append(nil), 27, 1),
		"small block": offer{block: 255, blocks: 1}.append(nil), "no blocks": offer{block: 256}.append(nil),
		"blocks": offer{block: 256, blocks: 65}.append(nil), "trailing": append(testOffer.append(nil), 0),
	} {
		_, err := parseOffer(b)
		assert.ErrorIs(t, err, ErrFormat, name)
	}
	for name, b := range map[string][]byte{
		"kind": change(testVerdict.append(nil), 5, kindAnswer), "status": change(testVerdict.append(nil), 6, 2),
		"text": change(testVerdict.append(nil), 7, 8), "session": change(testVerdict.append(nil), 8, 0),
		"negative": change(testVerdict.append(nil), 23, 0x80),
	} {
		_, err := parseReply(b, kindVerdict, testSession)
		assert.ErrorIs(t, err, ErrFormat, name)
	}
	for name, b := range map[string][]byte{
		"kind": testBlock(9, 5, "abc"), "sequence": testBlock(kindData, 4, "abc"), "empty": testBlock(kindData, 5, ""),
		"too long": testBlock(kindData, 5, strings.Repeat("x", 1025)), "length": change(testBlock(kindData, 5, "abc"), 4, 2),
		"session": change(testBlock(kindData, 5, "abc"), 16, 0), "reserved": change(testBlock(kindData, 5, "abc"), 24, 1),
		"short end": testBlock(kindEnd, 5, "abc"), "long abort": testBlock(kindAbort, 5, strings.Repeat("x", 201)),
	} {
		_, _, err := parseBlock(b, 1024, testSession, 5)
		assert.ErrorIs(t, err, ErrFormat, name)
	}
}

func FuzzFormat(f *testing.F) {
	for _, b := range [][]byte{testOffer.append(nil), testAnswer.append(nil), testVerdict.append(nil), testBlock(kindData, 5, "abc"), testEnd(9)} {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if o, err := parseOffer(b); err == nil {
			require.Equal(t, b, o.append(nil))
		}
		for _, kind := range []byte{kindAnswer, kindVerdict} {
			if r, err := parseReply(b, kind, testSession); err == nil {
				require.Equal(t, b, r.append(nil))
			}
		}
		if h, payload, err := parseBlock(b, 1024, testSession, 5); err == nil {
			again := append(make([]byte, headerBytes), payload...)
			h.put(again)
			require.Equal(t, b, again)
			if h.kind == kindEnd {
				parseEnd(payload)
			}
		}
	})
}
