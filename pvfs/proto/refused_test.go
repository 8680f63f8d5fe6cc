package proto

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// put changes 4 bytes of a message.
func put(b []byte, at int, v uint32) []byte {
	b = slices.Clone(b)
	binary.LittleEndian.PutUint32(b[at:], v)
	return b
}

// Errors in the start of a message.
func TestRefusedPreamble(t *testing.T) {
	req := AppendRequest(nil, nil, &NoopReq{})
	resp := AppendResponse(nil, &NoopResp{})
	for _, c := range []struct {
		name string
		at   int
		v    uint32
		is   error // for requests
		resp error // for responses
		says string
	}{
		{"older", 0, 6000, ErrVersion, ErrVersion, "version at byte 0: 6000, ours is 7000"},
		{"newer", 0, 8000, ErrVersion, ErrVersion, "version at byte 0: 8000"},
		{"newer minor", 0, 7001, ErrVersion, nil, "version at byte 0: 7001"},
		{"no version", 0, 0, ErrVersion, ErrVersion, "version at byte 0: 0"},
		{"largest version", 0, math.MaxUint32, ErrVersion, ErrVersion, "4294967295"},
		{"other encoding", 4, 1, ErrEncoding, ErrEncoding, "unknown encoding: encoding at byte 4: 1, ours is 2"},
		{"op 99", 8, 99, ErrUnknownOp, ErrUnknownOp, "unknown operation: operation at byte 8: 99"},
		{"op 0", 8, 0, ErrUnknownOp, ErrUnknownOp, "operation at byte 8: 0"},
		{"op -1", 8, math.MaxUint32, ErrUnknownOp, ErrUnknownOp, "operation at byte 8: -1"},
		{"op within the server", 8, 19, ErrUnknownOp, ErrUnknownOp, "operation at byte 8: 19"},
	} {
		_, _, err := ParseRequest(put(req, c.at, c.v))
		assert.ErrorIs(t, err, c.is, c.name)
		assert.ErrorContains(t, err, c.says, c.name)
		assert.Equal(t, EPROTO, StatusOf(err), c.name)
		_, _, err = ParseAnyResponse(put(resp, c.at, c.v))
		assert.ErrorIs(t, err, c.resp, c.name)
	}
	_, _, err := ParseRequest(put(req, 8, uint32(OpWriteCompletion)))
	assert.ErrorIs(t, err, ErrUnknownOp, "there are only responses of it")
	_, err = new(StatFSReq).Parse(req)
	assert.ErrorContains(t, err, "operation at byte 8: MGMT_NOOP, want STATFS")
}

// Invalid counts.
func TestRefusedFields(t *testing.T) {
	cred := Credential{Issuer: "C:h"}
	stripe := Dist{Name: DistStripe, StripSize: 65536}
	for _, c := range []struct {
		name string
		req  Request
		at   int
		v    uint32
		says string
	}{
		{"issuer longer than the message", &NoopReq{}, 16, 100, "MGMT_NOOP capability issuer at byte 16: 100, but only 40 bytes follow"},
		{"issuer too long", &NoopReq{}, 16, 129, "capability issuer at byte 16: 129, the limit is 128"},
		{"issuer of 4 GiB", &NoopReq{}, 16, math.MaxUint32, "capability issuer at byte 16: 4294967295, the limit is 128"},
		{"signature", &NoopReq{}, 32, 513, "capability signature at byte 32: 513, the limit is 512"},
		{"capability's handles", &NoopReq{}, 52, 1025, "capability handles at byte 52: 1025, the limit is 1024"},
		{"capability's handles are not there", &NoopReq{}, 52, 1, "capability handles at byte 52: 1, but only 4 bytes follow"},
		{"hints", &NoopReq{}, 56, 25, "hints at byte 56: 25, the limit is 24"},
		{"hints are not there", &NoopReq{}, 56, 1, "hints at byte 56: 1, but only 0 bytes follow"},
		{"groups", &RemoveReq{Cred: cred}, 84, 33, "groups at byte 84: 33, the limit is 32"},
		{"certificate", &RemoveReq{Cred: cred}, 116, math.MaxUint32, "certificate at byte 116: 4294967295, the limit is 8192"},
		{"name without its end", &RmDirentReq{Name: "abc"}, 64, 0x64636261, "name at byte 60: a string of 3 bytes does not end in zero"},
		{"zero in a name", &RmDirentReq{Name: "abc"}, 64, 0x00630061, "name at byte 60: zero within a string of 3 bytes"},
		{"key without its zero", &DelEattrReq{Key: "abc"}, 76, 0x64636261, "attribute name at byte 72: a name must have one zero, as the last of its 4 bytes"},
		{"zero in a key", &DelEattrReq{Key: "abc"}, 76, 0x00630061, "attribute name at byte 72: a name must have one zero"},
		{"key of a zero", &DelEattrReq{Key: "abc"}, 72, 1, "attribute name at byte 72: "},
		{"handles", &BatchRemoveReq{}, 64, 1 << 31, "handles at byte 64: 2147483648, the limit is 1024"},
		{"listattr", &ListAttrReq{}, 72, 61, "handles at byte 72: 61, the limit is 60"},
		{"nodes", &IOReq{Dist: stripe}, 128, 101, "file request at byte 128: 101, the limit is 100"},
		{"negative nodes", &IOReq{Dist: stripe}, 128, math.MaxUint32, "file request at byte 128: 4294967295, the limit is 100"},
		{"nodes are not there", &IOReq{Dist: stripe}, 128, 1, "file request at byte 136: 2 nodes do not fit in the rest of the message"},
		{"distribution", &IOReq{Dist: stripe}, 97, 0x78787878, `IO distribution name at byte 92: unknown distribution "sxxxx`},
		{"no distribution", &IOReq{Dist: stripe}, 92, 0, `distribution name at byte 92: unknown distribution ""`},
		{"value of neither type", &SetParamReq{}, 68, 2, "value type at byte 68: 2"},
		{"small write of 2^32 bytes more", &SmallIOReq{Type: IOWrite, Dist: stripe}, 228, 1, "total at byte 224: 4294967296, but 0 bytes follow"},
		{"password of a negative size", &GetUserCertReq{User: "al"}, 76, math.MaxUint32, "password at byte 72: -4294967296 bytes, the limit is 1024"},
		{"password that is not there", &GetUserCertReq{User: "al"}, 72, 1000, "password at byte 80: the message ends before it does"},
		{"private key", &GetUserCertReq{User: "al"}, 84, 1, "private key at byte 80: 4294967296 bytes, the limit is 16384"},
		{"name of a user", &GetUserCertReq{User: "al"}, 64, 256, "user name at byte 64: 256, the limit is 255"},
		{"small write of a negative size", &SmallIOReq{Type: IOWrite, Dist: stripe}, 228, math.MaxUint32, "total at byte 224: -4294967296, but 0 bytes follow"},
	} {
		b := AppendRequest(nil, nil, c.req)
		if _, _, err := ParseRequest(b); !assert.NoError(t, err, c.name) {
			continue
		}
		_, _, err := ParseRequest(put(b, c.at, c.v))
		assert.ErrorIs(t, err, ErrMalformed, c.name)
		assert.ErrorContains(t, err, c.says, c.name)
	}
}

func TestRefusedAttributes(t *testing.T) {
	a := Attr{Mask: AttrDatafiles | AttrMirror, Datafiles: []Handle{1, 2}, Copies: 1, Mirrors: []Handle{3, 4}}
	b := AppendResponse(nil, &GetAttrResp{Attr: a})
	require.NoError(t, new(GetAttrResp).Parse(b))
	const datafiles, mirrors = 64, 64 + 8 + 16 + 8
	for _, c := range []struct {
		at   int
		v    uint32
		says string
	}{
		{datafiles, 1025, "datafiles at byte 64: 1025, the limit is 1024"},
		{datafiles, 7, "datafiles at byte 64: 7, but only 52 bytes follow"},
		{mirrors, 2, "mirrors at byte 96: 2 copies of 2 datafiles do not fit in the rest of the message"},
		{mirrors, math.MaxUint32, "mirrors at byte 96: 4294967295 copies of 2 datafiles do not fit"},
	} {
		err := new(GetAttrResp).Parse(put(b, c.at, c.v))
		assert.ErrorIs(t, err, ErrMalformed)
		assert.ErrorContains(t, err, c.says)
	}
}

func TestResponses(t *testing.T) {
	into := &RmDirentResp{Handle: 9}
	err := ParseResponse(AppendStatus(nil, OpRmDirent, ENOENT), into)
	assert.Equal(t, ENOENT, err, "the status itself")
	assert.EqualValues(t, 9, into.Handle, "it was changed by a failure")

	err = ParseResponse(AppendStatus(nil, OpProtoError, EPROTO), into)
	assert.Equal(t, EPROTO, err, "an answer to any request")

	err = ParseResponse(AppendStatus(nil, OpProtoError, OK), into)
	assert.ErrorContains(t, err, "PROTO_ERROR without an error")

	err = ParseResponse(AppendStatus(nil, OpStatFS, ENOENT), into)
	assert.ErrorContains(t, err, "operation at byte 8: STATFS, want RMDIRENT")

	err = ParseResponse(append(AppendStatus(nil, OpRmDirent, ENOENT), 0), into)
	assert.ErrorContains(t, err, "1 bytes are left over", "nothing follows a failure")

	assert.NoError(t, ParseResponse(AppendStatus(nil, OpFlush, OK), &FlushResp{}))
	assert.Equal(t, AppendResponse(nil, &FlushResp{}), AppendStatus(nil, OpFlush, OK))
	assert.Len(t, AppendStatus(nil, OpFlush, EIO), 16)
}

func TestOpOf(t *testing.T) {
	op, ok := OpOf(AppendStatus(nil, OpFlush, EIO))
	assert.True(t, ok)
	assert.Equal(t, OpFlush, op)
	_, ok = OpOf(make([]byte, 11))
	assert.False(t, ok)
}

// Lists of unequal lengths are encoded to a message that decodes.
func TestUnevenLists(t *testing.T) {
	for _, req := range []Request{
		&GetEattrReq{Keys: []string{"a", "b"}, Sizes: []int64{1}},
		&GetEattrReq{Keys: []string{"a"}, Sizes: []int64{1, 2}},
		&SetEattrReq{Keys: []string{"a", "b"}, Values: [][]byte{{1}}},
		&SplitDirentReq{Handles: []Handle{1, 2}, Names: []string{"a"}},
		&SetAttrReq{Attr: Attr{Mask: AttrDatafiles | AttrMirror, Copies: math.MaxUint32, Datafiles: []Handle{1, 2}, Mirrors: []Handle{3, 4, 5}}},
		&IOReq{},
	} {
		_, _, err := ParseRequest(AppendRequest(nil, nil, req))
		assert.NoError(t, err, "%v", req)
	}
	for _, resp := range []Response{
		&ListAttrResp{Status: []Status{ENOENT, OK}, Attrs: make([]Attr, 1)},
		&GetEattrResp{Values: [][]byte{nil, {1}}, Errors: []Status{ENODATA}},
		&TreeGetFileSizeResp{Sizes: []int64{1, 2}},
		&TreeGetAttrResp{Attrs: make([]Attr, 2), Errors: []Status{EIO}},
	} {
		_, _, err := ParseAnyResponse(AppendResponse(nil, resp))
		assert.NoError(t, err, "%v", resp)
	}
}
