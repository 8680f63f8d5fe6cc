package object

import (
	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// parts are the encoded values of several ranks, one behind the other.
type parts struct {
	all    []byte
	counts []int // bytes of each
}

// newParts returns room for values of the lengths that the ranks have sent.
func newParts(lengths []int64) (*parts, error) {
	for rank, n := range lengths {
		if err := checkLength(n, rank); err != nil {
			return nil, err
		}
	}
	p := &parts{counts: counts(lengths)}
	p.all = make([]byte, total(p.counts))
	return p, nil
}

// counts returns lengths as counts, 0 for those that make no sense.
func counts(lengths []int64) []int {
	list := make([]int, len(lengths))
	for i, n := range lengths {
		if n > 0 && n <= BytesMax {
			list[i] = int(n)
		}
	}
	return list
}

func total(counts []int) int {
	sum := 0
	for _, n := range counts {
		sum += n
	}
	return sum
}

func (p *parts) buffer() mpi.Buffer { return mpi.Slice(p.all).Parts(p.counts, nil) }

// encodeAll encodes a value for each of some processes.
func encodeAll[T any](vs []T, processes int) (*parts, error) {
	if len(vs) != processes {
		return nil, errclass.New(errclass.Count, "%d values for %d processes: give one for each", len(vs), processes)
	}
	p := new(parts)
	for i := range vs {
		b, err := encode(vs[i])
		if err != nil {
			return nil, err
		}
		p.all, p.counts = append(p.all, b...), append(p.counts, len(b))
	}
	return p, nil
}

// decodeAll decodes the values of all ranks.
func decodeAll[T any](p *parts) ([]T, error) {
	vs := make([]T, len(p.counts))
	rest := p.all
	for rank, n := range p.counts {
		if err := decode(rest[:n], &vs[rank], rank); err != nil {
			return nil, err
		}
		rest = rest[n:]
	}
	return vs, nil
}
