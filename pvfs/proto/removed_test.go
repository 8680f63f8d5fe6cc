package proto

import (
	"bytes"
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRemovesHint(t *testing.T) {
	for _, h := range []Handle{0, 1, 4611686018427384793, 1<<64 - 1} {
		got, ok := Hints{{Type: HintHandle, Value: 7}, RemovesHint(h)}.Removes()
		assert.True(t, ok)
		assert.Equal(t, h, got)
	}
	for _, bad := range []Hints{
		nil,
		{{Type: HintHandle, Value: 7}},
		{{Name: "viaduct.removes", Text: "1"}},
		{{Type: 15, Name: HintRemoves, Text: "1"}},
		{{Name: HintRemoves, Text: "-1"}},
		{{Name: HintRemoves, Text: ""}},
		{{Name: HintRemoves, Text: "18446744073709551616"}},
	} {
		_, ok := bad.Removes()
		assert.False(t, ok, "%v", bad)
	}
	b := AppendRequest(nil, &Header{Hints: Hints{RemovesHint(5)}}, &NoopReq{})
	h, _, err := ParseRequest(b)
	require.NoError(t, err)
	assert.Equal(t, Hints{RemovesHint(5)}, h.Hints)
	want, _ := hex.DecodeString("01000000" + "00000000" + // one hint of two strings
		"0e000000" + hex.EncodeToString([]byte("viaduct.remove")) + "00" + "0000000000" + "01000000" + "3500" + "0000")
	assert.Equal(t, hex.EncodeToString(want), hex.EncodeToString(b[56:]))
}

// Answers with and without a mark. A client that did not send the hint refuses an answer with one.
func TestMarks(t *testing.T) {
	const head = "581b0000" + "02000000"
	for _, c := range []struct {
		resp  Response
		plain Response
		hex   string
	}{
		{&MarkedRmDirentResp{Handle: 9}, &RmDirentResp{}, head + "08000000" + "00000000" + "0900000000000000"},
		{&MarkedRmDirentResp{Handle: 9, Mark: MarkKept}, &RmDirentResp{}, head + "08000000" + "00000000" + "0900000000000000" + "0100000000000000"},
		{&MarkedRmDirentResp{Handle: 9, Mark: MarkRemoved}, &RmDirentResp{}, head + "08000000" + "00000000" + "0900000000000000" + "0200000000000000"},
		{&MarkedRemoveResp{}, &RemoveResp{}, head + "02000000" + "00000000"},
		{&MarkedRemoveResp{Mark: MarkRemoved}, &RemoveResp{}, head + "02000000" + "00000000" + "0200000000000000"},
		{&MarkedNoopResp{}, &NoopResp{}, head + "11000000" + "00000000"},
		{&MarkedNoopResp{Mark: MarkKept}, &NoopResp{}, head + "11000000" + "00000000" + "0100000000000000"},
	} {
		b := c.resp.Append(nil)
		assert.Equal(t, c.hex, hex.EncodeToString(b))
		assert.LessOrEqual(t, len(b), MaxResponse(c.resp.Op()))
		into := func() Response {
			switch c.resp.Op() {
			case OpRemove:
				return &MarkedRemoveResp{Mark: MarkKept}
			case OpNoop:
				return &MarkedNoopResp{Mark: MarkRemoved}
			}
			return &MarkedRmDirentResp{Handle: 1, Mark: MarkKept}
		}
		unmarked := 16 // bytes without a mark
		if c.resp.Op() == OpRmDirent {
			unmarked = 24
		}
		got := into()
		require.NoError(t, got.Parse(b))
		assert.Equal(t, c.resp, got)
		assert.NotEmpty(t, got.String())
		if err := c.plain.Parse(b); len(b) == unmarked {
			assert.NoError(t, err)
		} else {
			assert.ErrorIs(t, err, ErrMalformed)
		}
		for n := range b {
			if n == unmarked {
				continue
			}
			assert.ErrorIs(t, into().Parse(b[:n:n]), ErrMalformed, "%d of %d bytes", n, len(b))
		}
		assert.ErrorIs(t, into().Parse(append(bytes.Clone(b), make([]byte, 8)...)), ErrMalformed, "a mark of 0, or more than one")
		assert.ErrorIs(t, into().Parse(append(bytes.Clone(b[:len(b)&^7]), 3, 0, 0, 0, 0, 0, 0, 0)), ErrMalformed)
	}
	var refused MarkedRmDirentResp
	assert.Equal(t, ENOENT, refused.Parse(AppendStatus(nil, OpRmDirent, ENOENT)))
}

// FuzzMarked is FuzzResponse for answers that may have a mark.
func FuzzMarked(f *testing.F) {
	for _, mark := range []RemovedMark{MarkNone, MarkKept, MarkRemoved} {
		f.Add((&MarkedRmDirentResp{Handle: 9, Mark: mark}).Append(nil))
		f.Add((&MarkedRemoveResp{Mark: mark}).Append(nil))
		f.Add((&MarkedNoopResp{Mark: mark}).Append(nil))
	}
	f.Add(AppendStatus(nil, OpRemove, ENOENT))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, into := range []func() Response{
			func() Response { return new(MarkedRmDirentResp) }, func() Response { return new(MarkedRemoveResp) },
			func() Response { return new(MarkedNoopResp) },
		} {
			got, again := into(), into()
			if got.Parse(b) != nil {
				continue
			}
			require.NoError(t, again.Parse(got.Append(nil)))
			require.Equal(t, got, again)
		}
	})
}
