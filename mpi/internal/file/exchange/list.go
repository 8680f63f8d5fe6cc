package exchange

import (
	"context"
	"encoding/binary"
	"math"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/internal/file/ranges"
	"github.com/viaduct-hpc/viaduct/mpi/internal/file/twophase"
	"github.com/viaduct-hpc/viaduct/mpi/internal/team"
)

// A list travels as its length in bytes, 8 bytes, and as much of it as fits into firstBytes. The
// rest, if any, is a second message.
const (
	headBytes  = 8
	firstBytes = 4096
)

// sendList begins to send a list.
func sendList(t *team.Team, l ranges.List, to int) []team.Pending {
	b := l.Append(make([]byte, headBytes))
	binary.LittleEndian.PutUint64(b, uint64(len(b)-headBytes))
	if len(b) <= firstBytes {
		return []team.Pending{t.Isend(b, to, team.TagList)}
	}
	return []team.Pending{t.Isend(b[:firstBytes], to, team.TagList), t.Isend(b[firstBytes:], to, team.TagMore)}
}

// A part is the ranges that one rank has in a window.
type part struct {
	rank int
	list ranges.List
}

// collect receives the lists for a window from all ranks that may have bytes there. It starts with
// the rank of a number, so that the aggregators do not all wait for the same one.
func (o *Op) collect(ctx context.Context, w twophase.Span, first int) ([]part, error) {
	var parts []part
	var firsts [][]byte
	var pending []team.Pending
	n := o.Team.Size()
	for i := range n {
		rank := (first + i) % n
		if !o.Plan.Hulls[rank].Meets(w) {
			continue
		}
		b := make([]byte, firstBytes)
		parts, firsts = append(parts, part{rank: rank}), append(firsts, b)
		pending = append(pending, o.Team.Irecv(b, rank, team.TagList))
	}
	var failed error
	for i, p := range pending {
		n, err := p.Wait(ctx)
		if err == nil && failed == nil {
			parts[i].list, err = o.parse(ctx, firsts[i][:n], parts[i].rank, w)
		}
		if err != nil && failed == nil {
			failed = err
		}
	}
	return parts, failed
}

// parse decodes a list. b is its first message; parse receives the others.
func (o *Op) parse(ctx context.Context, b []byte, from int, w twophase.Span) (ranges.List, error) {
	damaged := func() error {
		return o.Team.Break(errclass.New(errclass.Intern, "a list of byte ranges from rank %d is damaged", from))
	}
	if len(b) < headBytes {
		return nil, damaged()
	}
	length := binary.LittleEndian.Uint64(b)
	if length > math.MaxInt32 {
		return nil, damaged()
	}
	list := b[headBytes:]
	if rest := int(length) - len(list); rest > 0 {
		more := make([]byte, rest)
		n, err := o.Team.Irecv(more, from, team.TagMore).Wait(ctx)
		if err != nil {
			return nil, err
		}
		list = append(list, more[:n]...)
	}
	if len(list) != int(length) {
		return nil, damaged()
	}
	l, err := ranges.Parse(list, w.Low, w.High)
	if err != nil {
		return nil, damaged()
	}
	return l, nil
}

// waitAll waits for messages, even after an error. It returns the first error.
func waitAll(ctx context.Context, pending []team.Pending) (failed error) {
	for _, p := range pending {
		if _, err := p.Wait(ctx); err != nil && failed == nil {
			failed = err
		}
	}
	return failed
}
