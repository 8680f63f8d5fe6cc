package server

import (
	"encoding/binary"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/store"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// A record is metadata that a server keeps of an object. Stock servers show it as an extended attribute.
type record struct {
	key   string
	value func() []byte
}

// visible returns the records of an object in the order of their keys.
func visible(o *store.Object) []record {
	switch o.Type {
	case proto.TypeMetafile:
		all := []record{
			{"dh", func() []byte { return handleArray(o.Datafiles) }},
			{"md", func() []byte { return distRecord(o.Dist) }},
		}
		if o.Mask&proto.AttrUnstuffed == 0 {
			all = append(all,
				record{"ml", func() []byte { return words(uint32(proto.LayoutRoundRobin), 0, 0, 0) }},
				record{"nd", func() []byte { return words(o.Hint.Datafiles) }})
		}
		return all
	case proto.TypeSymlink:
		return []record{{"st", func() []byte { return append([]byte(o.Target), 0) }}}
	case proto.TypeDirectory, proto.TypeDirdata:
		d := &o.DistDir
		return []record{
			{"/dda", func() []byte {
				return words(uint32(d.TreeHeight), uint32(len(d.Dirdata)), uint32(len(d.Bitmap)),
					uint32(d.SplitSize), uint32(d.ServerNo), uint32(d.BranchLevel))
			}},
			{"/ddb", func() []byte { return words(d.Bitmap...) }},
			{"/ddh", func() []byte { return handles(nil, d.Dirdata) }},
		}
	}
	return nil
}

func words(all ...uint32) []byte {
	var b []byte
	for _, w := range all {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return b
}

func handles(b []byte, all []proto.Handle) []byte {
	for _, h := range all {
		b = binary.LittleEndian.AppendUint64(b, uint64(h))
	}
	return b
}

// handleArray is a list of handles, preceded by its length.
func handleArray(all []proto.Handle) []byte { return handles(words(0, uint32(len(all))), all) }

// distRecord is a distribution as stock servers store it: name and parameters, in a record of their size in memory plus 32 bytes.
func distRecord(d proto.Dist) []byte {
	round := func(n int) int { return (n + 7) &^ 7 }
	text := func(b []byte, s string) []byte {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(s)))
		b = append(append(b, s...), 0)
		return append(b, make([]byte, round(4+len(s)+1)-(4+len(s)+1))...)
	}
	b := text(nil, d.Name)
	params := 0
	switch d.Name {
	case proto.DistStripe:
		b = binary.LittleEndian.AppendUint64(b, uint64(d.StripSize))
		params = 8
	case proto.DistTwoD:
		b = binary.LittleEndian.AppendUint32(b, d.Groups)
		b = binary.LittleEndian.AppendUint64(b, uint64(d.StripSize))
		b = binary.LittleEndian.AppendUint32(b, d.Factor)
		params = 24
	case proto.DistVar:
		b = text(b, d.Strips)
		params = len(d.Strips) + 1
	}
	size := max(32+round(len(d.Name)+1)+round(params), len(b))
	return append(b, make([]byte, size-len(b))...)
}
