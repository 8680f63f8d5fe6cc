package datatype

import (
	"encoding/binary"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// nodeBytes is the size of a node in the fuzz corpus, which has its own format. Package proto has the format of the wire.
const nodeBytes = 5*8 + 5*4

func encode(n proto.ReqNode) []byte {
	var b []byte
	for _, v := range []int64{n.Offset, n.Stride, n.UpperBound, n.LowerBound, n.Aggregate} {
		b = binary.LittleEndian.AppendUint64(b, uint64(v))
	}
	for _, v := range []int32{n.NumEreqs, n.NumBlocks, n.Committed, n.Element, n.Sequence} {
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	return b
}

func decode(b []byte) proto.ReqNode {
	long := func(i int) int64 { return int64(binary.LittleEndian.Uint64(b[8*i:])) }
	short := func(i int) int32 { return int32(binary.LittleEndian.Uint32(b[40+4*i:])) }
	return proto.ReqNode{
		Offset: long(0), Stride: long(1), UpperBound: long(2), LowerBound: long(3), Aggregate: long(4),
		NumEreqs: short(0), NumBlocks: short(1), Committed: short(2), Element: short(3), Sequence: short(4),
	}
}
