package replay

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

func TestMappingReplaces(t *testing.T) {
	m := NewMapping(1048576)
	require.True(t, m.Learn(7, 70))
	require.False(t, m.Learn(7, 71), "7 is 70")
	require.False(t, m.Learn(8, 70), "70 is 7")
	require.False(t, m.Learn(9, 0), "0 is none")
	m.LearnCapability(&proto.Capability{Issuer: "S:a", Mask: 3, Handles: []proto.Handle{7}},
		&proto.Capability{Issuer: "S:b", Mask: 3, Handles: []proto.Handle{70}, Signature: []byte("sig")})

	h := &proto.Header{
		Capability: proto.Capability{Issuer: "S:a", Mask: 3, Handles: []proto.Handle{7}},
		Hints:      proto.Hints{{Type: proto.HintHandle, Value: 7}, {Type: proto.HintRank, Value: 7}},
	}
	req := &proto.TreeRemoveReq{FS: 7, Handles: []proto.Handle{7, 1048576}}
	m.Request(h, req)
	require.Equal(t, []byte("sig"), h.Capability.Signature)
	require.Equal(t, proto.Hints{{Type: proto.HintHandle, Value: 70}, {Type: proto.HintRank, Value: 7}}, h.Hints)
	require.Equal(t, []proto.Handle{70, 1048576}, req.Handles)

	extents := &proto.BatchCreateReq{Extents: []proto.Extent{{First: 7, Last: 7}}}
	m.Request(&proto.Header{}, extents)
	require.Equal(t, []proto.Extent{{First: 7, Last: 7}}, extents.Extents)
}

func TestCompareLearns(t *testing.T) {
	m := NewMapping()
	captured := &proto.ReadDirResp{Token: 5, Version: 1, Entries: []proto.DirEntry{{Name: "b", Handle: 2}, {Name: "a", Handle: 1}}}
	live := &proto.ReadDirResp{Token: 50, Version: 9, Entries: []proto.DirEntry{{Name: "a", Handle: 10}, {Name: "b", Handle: 20}}}
	require.Empty(t, m.Compare(captured, live))
	require.Equal(t, proto.Handle(20), m.Live(2))
	req := &proto.ReadDirReq{Token: 5}
	m.Request(&proto.Header{}, req)
	require.Equal(t, uint64(50), req.Token)

	live.Entries[0].Handle, live.Entries[1].Name = 20, "c"
	require.Len(t, m.Compare(captured, live), 2)
	require.Len(t, m.Compare(captured, &proto.IOResp{}), 1)
	require.Len(t, m.Compare(&proto.IOResp{Size: 1}, &proto.IOResp{Size: 2}), 1)
	require.Len(t, m.Compare(&proto.GetEattrResp{Values: [][]byte{{1}}}, &proto.GetEattrResp{Values: [][]byte{{2}}}), 1)
}
