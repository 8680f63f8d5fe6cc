package datatype

import (
	"iter"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/stripe"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// Piece is a run of bytes of one datafile that is contiguous there and in the
// operation's buffer.
type Piece struct {
	Phys, Len int64
	Mem       int64 // offset in the operation's buffer; the buffer has aggregate bytes
}

// Op is one operation on a file of N datafiles: the fields of an IO or SMALL_IO request without the handle. CheckIO and Map.Check
// must have accepted it.
type Op struct {
	Map        stripe.Map
	N          int
	Request    proto.FileRequest
	FileOffset int64
	Aggregate  int64
}

// Pieces is the part of an operation on one datafile, in the order in which its bytes are sent.
func Pieces(m stripe.Map, datafile, n int, req proto.FileRequest, fileOffset, aggregate int64) iter.Seq[Piece] {
	return Op{m, n, req, fileOffset, aggregate}.Pieces(datafile)
}

// Share is the number of an operation's bytes on one datafile.
func Share(m stripe.Map, datafile, n int, req proto.FileRequest, fileOffset, aggregate int64) int64 {
	return Op{m, n, req, fileOffset, aggregate}.Share(datafile)
}

// Pieces is the part of the operation on one datafile. A piece may be adjacent to the previous one in the datafile or in the
// buffer, but not in both.
func (o Op) Pieces(datafile int) iter.Seq[Piece] {
	return func(yield func(Piece) bool) {
		mem := int64(0)
		var last Piece
		for r := range Regions(o.Request, o.FileOffset, o.Aggregate) {
			end := r.Off + r.Len
			phys := o.Map.Cut(r.Off, datafile, o.N)
			for {
				off := o.Map.Logical(datafile, phys, o.N)
				if off >= end {
					break
				}
				p := Piece{phys, min(o.Map.Run(datafile, phys, o.N), end-off), mem + off - r.Off}
				phys += p.Len
				if last.Len > 0 && last.Phys+last.Len == p.Phys && last.Mem+last.Len == p.Mem {
					last.Len += p.Len
					continue
				}
				if last.Len > 0 && !yield(last) {
					return
				}
				last = p
			}
			mem += r.Len
		}
		if last.Len > 0 {
			yield(last)
		}
	}
}

// Share is the number of the operation's bytes on one datafile.
func (o Op) Share(datafile int) int64 {
	sum := int64(0)
	for r := range Regions(o.Request, o.FileOffset, o.Aggregate) {
		sum += o.Map.Cut(r.Off+r.Len, datafile, o.N) - o.Map.Cut(r.Off, datafile, o.N)
	}
	return sum
}

// Shares is Share of every datafile.
func (o Op) Shares() []int64 {
	shares := make([]int64, o.N)
	for r := range Regions(o.Request, o.FileOffset, o.Aggregate) {
		// A short region touches few datafiles; a long one all.
		first, phys := o.Map.Place(r.Off, o.N)
		if o.Map.Run(first, phys, o.N) >= r.Len {
			shares[first] += r.Len
			continue
		}
		for i := range shares {
			shares[i] += o.Map.Cut(r.Off+r.Len, i, o.N) - o.Map.Cut(r.Off, i, o.N)
		}
	}
	return shares
}

// Stored is the number of the operation's bytes on one datafile that lie below size there. A read moves as many if the datafile
// has that size: it ends at the first byte beyond.
func (o Op) Stored(datafile int, size int64) int64 {
	sum := int64(0)
	for p := range o.Pieces(datafile) {
		in := min(p.Len, size-p.Phys)
		sum += max(in, 0)
		if in < p.Len {
			break
		}
	}
	return sum
}
