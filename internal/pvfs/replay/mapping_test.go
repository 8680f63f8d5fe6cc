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
	p := &Player{Map: NewMapping(), lists: make(map[proto.Handle]*listing)}
	dir := &proto.ReadDirReq{Dirdata: 3, Token: proto.TokenStart}
	captured := &proto.ReadDirResp{Token: 5, Version: 1, Entries: []proto.DirEntry{{Name: "b", Handle: 2}, {Name: "a", Handle: 1}}}
	live := &proto.ReadDirResp{Token: 50, Version: 9, Entries: []proto.DirEntry{{Name: "a", Handle: 10}, {Name: "c", Handle: 30}}}
	require.Empty(t, p.compare(dir, captured, live))
	require.Equal(t, proto.Handle(10), p.Map.Live(1))
	req := &proto.ReadDirReq{Dirdata: 3, Token: 5}
	p.Map.Request(&proto.Header{}, req)
	require.Equal(t, uint64(50), req.Token)
	require.Empty(t, p.compare(req,
		&proto.ReadDirResp{Entries: []proto.DirEntry{{Name: "c", Handle: 3}}},
		&proto.ReadDirResp{Entries: []proto.DirEntry{{Name: "b", Handle: 20}}}))
	require.Equal(t, proto.Handle(30), p.Map.Live(3))
	require.Empty(t, p.Finish())

	require.Len(t, p.compare(dir, captured, &proto.ReadDirResp{Entries: []proto.DirEntry{{Name: "a", Handle: 20}}}), 2)
	require.Len(t, p.Finish(), 1)
	m := p.Map
	require.Len(t, m.Compare(captured, &proto.IOResp{}), 1)
	require.Len(t, m.Compare(&proto.IOResp{Size: 1}, &proto.IOResp{Size: 2}), 1)
	require.Len(t, m.Compare(&proto.GetEattrResp{Values: [][]byte{{1}}}, &proto.GetEattrResp{Values: [][]byte{{2}}}), 1)
	require.Empty(t, m.Compare(&proto.GetAttrResp{Attr: proto.Attr{CTime: 1, Owner: 5}}, &proto.GetAttrResp{Attr: proto.Attr{CTime: 2, Owner: 5}}))
	require.Len(t, m.Compare(&proto.GetAttrResp{Attr: proto.Attr{Owner: 6}}, &proto.GetAttrResp{Attr: proto.Attr{Owner: 5}}), 1)
}
