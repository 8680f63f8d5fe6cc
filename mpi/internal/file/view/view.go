// Package view maps the bytes that a process sees in a file to the bytes of the file (MPI-4.1,
// 14.1.1 and 14.3): a view begins at a displacement, and repeats a filetype without end. The bytes
// of the view are those of the filetypes, numbered from 0 without the gaps between them.
//
// The package is pure: it knows no file, no memory and no process.
package view

import (
	"math"
	"math/bits"

	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/internal/file/ranges"
)

// A View is a view. It is immutable.
type View struct {
	disp            int64
	etype, filetype *datatype.Type
	size, extent    int64 // of the filetype
	low, high       int64 // where its bytes begin and end
	strict          bool
}

// New makes a view. The etype has bytes, and the filetype is whole etypes, in ascending order
// without negative displacements. It may be empty: then the view has no bytes.
func New(disp int64, etype, filetype *datatype.Type) (*View, error) {
	if disp < 0 {
		return nil, errclass.New(errclass.Arg, "the displacement of the view is %d, give 0 or more", disp)
	}
	if etype == nil || filetype == nil {
		return nil, errclass.New(errclass.Type, "the etype or the filetype is nil: give types of package datatype")
	}
	if etype.Size() == 0 || filetype.Size()%etype.Size() != 0 {
		return nil, errclass.New(errclass.Type, "a filetype of %d bytes does not consist of etypes of %d bytes", filetype.Size(), etype.Size())
	}
	_, extent := filetype.Extent()
	low, trueExtent := filetype.TrueExtent()
	v := &View{disp: disp, etype: etype, filetype: filetype, size: int64(filetype.Size()), extent: int64(extent),
		low: int64(low), high: int64(low) + int64(trueExtent)}
	if v.size == 0 {
		v.strict = true
		return v, nil
	}
	weak, strict := filetype.Ascending()
	switch {
	case !weak:
		return nil, errclass.New(errclass.Type, "the displacements of the filetype %v do not ascend", filetype)
	case low < 0:
		return nil, errclass.New(errclass.Type, "the filetype %v has the negative displacement %d", filetype, low)
	case extent < 1:
		return nil, errclass.New(errclass.Type, "the filetype %v has an extent of %d: it is repeated, so its extent must be positive", filetype, extent)
	case disp > math.MaxInt64-v.high:
		return nil, errclass.New(errclass.Arg, "the displacement of the view is %d: with it, offsets do not fit into 64 bits", disp)
	}
	v.strict = strict && v.extent >= int64(trueExtent)
	return v, nil
}

// Disp returns the displacement.
func (v *View) Disp() int64 { return v.disp }

// Etype returns the elementary type, in whose size offsets count.
func (v *View) Etype() *datatype.Type { return v.etype }

// Filetype returns the type that is repeated.
func (v *View) Filetype() *datatype.Type { return v.filetype }

// Strict tells whether each byte of the view lies after the one before it. If not, bytes of the
// file may be in the view several times, which is allowed only for reading.
func (v *View) Strict() bool { return v.strict }

// Bytes returns the place in the view of etype off, in bytes. off ≥ 0.
func (v *View) Bytes(off int64) (int64, error) {
	hi, lo := bits.Mul64(uint64(off), uint64(v.etype.Size()))
	if hi != 0 || lo > math.MaxInt64 {
		return 0, errFar(off)
	}
	return int64(lo), nil
}

// Etypes returns how many etypes lie before byte d of the view. The last of them may be incomplete.
func (v *View) Etypes(d int64) int64 {
	size := int64(v.etype.Size())
	return d/size + min(d%size, 1)
}

func errFar(off int64) error {
	return errclass.New(errclass.Arg, "offset %d is so far from the beginning that the place in the file does not fit into 64 bits", off)
}

// Check returns an error unless the view has bytes d to d+n-1, all of them at places that 64 bits
// hold.
func (v *View) Check(d, n int64) error {
	if n == 0 {
		return nil
	}
	if v.size == 0 {
		return errclass.New(errclass.Type, "the filetype of the view is empty, so there is nothing to read or write")
	}
	if d < 0 || n < 0 || d > math.MaxInt64-n {
		return errFar(d)
	}
	tile := (d + n - 1) / v.size
	hi, lo := bits.Mul64(uint64(tile), uint64(v.extent))
	if hi != 0 || lo > math.MaxInt64 || int64(lo) > math.MaxInt64-v.high-v.disp {
		return errFar(d)
	}
	return nil
}

// Offset returns the offset in the file of byte d of the view.
func (v *View) Offset(d int64) (int64, error) {
	if err := v.Check(d, 1); err != nil {
		return 0, err
	}
	tile, in := d/v.size, int(d%v.size)
	for r := range v.filetype.Runs(in, in+1) {
		return v.disp + tile*v.extent + int64(r.Off), nil
	}
	panic("mpi/file: a filetype has fewer bytes than its size")
}

// Below returns how many bytes of the view come before the first one at or behind offset end of the
// file.
func (v *View) Below(end int64) int64 {
	at := end - v.disp
	if v.size == 0 || at <= v.low {
		return 0
	}
	// The first tile that ends after at.
	tile := max(0, (at-v.high)/v.extent+1)
	if at < v.high {
		tile = 0
	}
	hi, lo := bits.Mul64(uint64(tile), uint64(v.size))
	if hi != 0 || lo > math.MaxInt64 {
		return math.MaxInt64
	}
	base := tile * v.extent
	if v.strict {
		return sum(int64(lo), int64(v.filetype.Below(int(min(at-base, v.high)))))
	}
	below := int64(0)
	for r := range v.filetype.Runs(0, int(v.size)) {
		for i := range r.Count {
			off := base + int64(r.Off) + int64(i)*int64(r.Stride)
			if off+int64(r.Len) > at {
				return sum(int64(lo), below+max(0, at-off))
			}
			below += int64(r.Len)
		}
	}
	return sum(int64(lo), below)
}

// sum is a + b, or the largest number.
func sum(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// Ranges returns where bytes d to d+n-1 of the view lie in the file, which Check has accepted. It
// stops after most runs; done is the number of bytes in the list.
func (v *View) Ranges(d, n int64, most int) (l ranges.List, done int64) {
	for done < n {
		tile, in := (d+done)/v.size, (d+done)%v.size
		base := v.disp + tile*v.extent
		if off, _, one := v.filetype.Piece(1); one && v.strict && in == 0 && n-done >= v.size {
			// Whole tiles of one range each.
			tiles := (n - done) / v.size
			if !add(&l, ranges.Run{Off: base + int64(off), Len: v.size, Stride: v.extent, Count: tiles}, most) {
				return l, done
			}
			done += tiles * v.size
			continue
		}
		end := min(v.size, in+n-done)
		for r := range v.filetype.Runs(int(in), int(end)) {
			run := ranges.Run{Off: base + int64(r.Off), Len: int64(r.Len), Stride: int64(r.Stride), Count: int64(r.Count)}
			if !v.strict && run.Count > 1 && run.Stride < run.Len {
				for i := range run.Count {
					if !add(&l, ranges.One(run.Off+i*run.Stride, run.Len), most) {
						return l, done
					}
					done += run.Len
				}
				continue
			}
			if !add(&l, run, most) {
				return l, done
			}
			done += run.Bytes()
		}
	}
	return l, done
}

// add adds a run unless the list would then be too long.
func add(l *ranges.List, r ranges.Run, most int) bool {
	l.Add(r)
	if len(*l) > most {
		*l = (*l)[:most]
		return false
	}
	return true
}

// Hull returns where bytes d to d+n-1, n > 0, which Check has accepted, begin and end in the file.
// If the view is not strict, it may be more than that.
func (v *View) Hull(d, n int64) (low, high int64) {
	first, last := d/v.size, (d+n-1)/v.size
	low, high = v.disp+first*v.extent+v.low, v.disp+last*v.extent+v.high
	if !v.strict {
		return low, high
	}
	for r := range v.filetype.Runs(int(d%v.size), int(d%v.size)+1) {
		low = v.disp + first*v.extent + int64(r.Off)
	}
	end := int((d+n-1)%v.size) + 1
	for r := range v.filetype.Runs(end-1, end) {
		high = v.disp + last*v.extent + int64(r.Off) + 1
	}
	return low, high
}
