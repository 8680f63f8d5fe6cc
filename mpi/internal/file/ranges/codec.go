package ranges

import (
	"encoding/binary"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// The form of a list in a message: its runs, each of them the distance of its beginning from the
// end of the run before, signed, then Len, Count, and, if Count > 1, Stride. All are varints.

// Append appends the encoded list.
func (l List) Append(b []byte) []byte {
	end := int64(0)
	for _, r := range l {
		b = binary.AppendVarint(b, r.Off-end)
		b = binary.AppendUvarint(b, uint64(r.Len))
		b = binary.AppendUvarint(b, uint64(r.Count))
		if r.Count > 1 {
			b = binary.AppendUvarint(b, uint64(r.Stride))
		}
		end = r.End()
	}
	return b
}

// Parse decodes a list and checks it: all ranges ascend and lie from low to high-1.
func Parse(b []byte, low, high int64) (List, error) {
	var l List
	p := parser{rest: b}
	for end := int64(0); len(p.rest) > 0; {
		r := Run{Off: end + p.signed(), Len: p.number(), Count: p.number()}
		if r.Count > 1 {
			r.Stride = p.number()
		}
		if p.bad || !r.valid() || r.Off < max(end, low) || r.End() > high {
			return nil, errclass.New(errclass.Intern, "a list of byte ranges from another rank is damaged")
		}
		end = r.End()
		l = append(l, r)
	}
	return l, nil
}

type parser struct {
	rest []byte
	bad  bool
}

func (p *parser) number() int64 {
	x, n := binary.Uvarint(p.rest)
	return p.took(int64(x), n)
}

func (p *parser) signed() int64 {
	x, n := binary.Varint(p.rest)
	return p.took(x, n)
}

func (p *parser) took(x int64, n int) int64 {
	if n <= 0 {
		p.bad, p.rest = true, nil
		return 0
	}
	p.rest = p.rest[n:]
	return x
}
