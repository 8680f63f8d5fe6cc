package proto

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// The table of operations is complete, and each entry has its own number.
func TestOperations(t *testing.T) {
	requests, responses := 0, 0
	for op := range Op(len(operations)) {
		if operations[op].name == "" {
			assert.Equal(t, op.operation(), operation{}, op)
			continue
		}
		if req := NewRequest(op); req != nil {
			requests++
			assert.Equal(t, op, req.Op())
			assert.GreaterOrEqual(t, MaxRequest(op), len(AppendRequest(nil, nil, req)), op)
			assert.Contains(t, req.String(), "REQ "+op.String())
		}
		if resp := NewResponse(op); resp != nil {
			responses++
			assert.Equal(t, op, resp.Op())
			assert.GreaterOrEqual(t, MaxResponse(op), len(AppendResponse(nil, resp)), op)
			assert.Contains(t, resp.String(), "RESP "+op.String())
		}
	}
	assert.Equal(t, 46, requests)
	assert.Equal(t, 48, responses)
	for _, op := range []Op{-1, 0, 19, 27, 37, 52, 1 << 30} {
		assert.Nil(t, NewRequest(op), op)
		assert.Nil(t, NewResponse(op), op)
		assert.Zero(t, MaxRequest(op), op)
		assert.Zero(t, MaxResponse(op), op)
	}
	assert.Equal(t, "Op(-1)", Op(-1).String())
	assert.Equal(t, "Op(52)", Op(52).String())
}

// Masks of stock clients as text.
func TestMaskString(t *testing.T) {
	assert.Equal(t, "common|dist|datafiles|mirror|dirent_count|dir_hint|dist_dir", AttrMask(0x382c7f).String())
	assert.Equal(t, "atime|type|atime_set", AttrMask(0xc8).String())
	assert.Equal(t, "0x0", AttrMask(0).String())
	assert.Equal(t, "uid|0x80000000", AttrMask(0x80000001).String())
}

func TestStrings(t *testing.T) {
	assert.Equal(t, "directory", TypeDirectory.String())
	assert.Equal(t, "type(3)", ObjType(3).String())
	assert.Equal(t, "write", IOWrite.String())
	assert.Equal(t, "io(0)", IOType(0).String())
	assert.Equal(t, "round-robin", LayoutRoundRobin.String())
	assert.Equal(t, "layout(9)", LayoutAlgorithm(9).String())
	assert.Equal(t, "layout(-1)", LayoutAlgorithm(-1).String())
	assert.Equal(t, "drop-caches", ParamDropCaches.String())
	assert.Equal(t, "param(99)", Param(99).String())
	assert.Equal(t, "bytes", ByteStream().String())
	assert.Equal(t, "none", Capability{}.String())
	assert.Equal(t, "[0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0] and 84 more", shorten(make([]Handle, 100)).String())
}

func TestHintsFind(t *testing.T) {
	h := Hints{{Type: HintClientID, Value: 7}, {Type: HintHandle, Value: 8}, {Type: HintHandle, Value: 9}}
	v, ok := h.Find(HintHandle)
	assert.True(t, ok)
	assert.EqualValues(t, 8, v)
	_, ok = h.Find(HintOwnerGID)
	assert.False(t, ok)
}

func TestNullCapability(t *testing.T) {
	assert.True(t, (&Capability{FS: 3}).Null())
	assert.False(t, (&Capability{Issuer: "S:a"}).Null())
	assert.False(t, (&Capability{Mask: 1}).Null())
}
