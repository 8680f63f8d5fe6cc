package stripe

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// Limits of parameters. A whole stripe over proto.MaxDatafiles datafiles then
// fits an offset.
const (
	StripBytesMax     = 1 << 40 // of one strip
	GroupBytesMax     = 1 << 48 // strip size times factor, of a twod_stripe
	StripsTextMax     = 1024    // bytes of the text of a varstrip_dist
	basicBlockBytes   = 65536   // what a basic_dist tells as its block
	defaultTwoDGroups = 2
	defaultTwoDFactor = 256
)

// ErrParameters is wrapped by every error of this package: the distribution is
// unknown, its parameters make no map, or the number of datafiles is not one
// that it can be for.
var ErrParameters = errors.New("stripe: bad distribution")

// A Map is one distribution. Its methods are for 1 ≤ n ≤ proto.MaxDatafiles
// datafiles that passed Check, 0 ≤ datafile < n, and offsets from 0 on.
type Map interface {
	// Name is the distribution's name in the protocol.
	Name() string
	// Check reports whether a file of n datafiles can have this distribution.
	Check(n int) error
	// Count is the number of datafiles of a new file for which somebody wants
	// so many: the nearest that Check accepts.
	Count(want int) int
	// Place is where the byte at the logical offset off is.
	Place(off int64, n int) (datafile int, phys int64)
	// Logical is the offset in the file of the byte at phys of a datafile:
	// math.MaxInt64 if a file cannot be that long, or if the datafile never
	// has a byte.
	Logical(datafile int, phys int64, n int) int64
	// Run is how many bytes from phys on are contiguous in the datafile and in
	// the file.
	Run(datafile int, phys int64, n int) int64
	// Size is the size of the file whose datafiles have these sizes, bytes.
	Size(sizes []int64) int64
	// Cut is the size that a datafile has after the file was truncated to size;
	// that is, how many of the file's first bytes are on the datafile.
	Cut(size int64, datafile, n int) int64
	// StripSize is how many bytes at the beginning of a file are on its first
	// datafile, whatever n.
	StripSize() int64
	// BlockSize is what stat tells as the best size of an I/O, bytes.
	BlockSize(n int) int64
}

// Of returns the map of a distribution. The error wraps ErrParameters.
func Of(d proto.Dist) (Map, error) {
	switch d.Name {
	case proto.DistStripe:
		if err := checkStrip(d); err != nil {
			return nil, err
		}
		return simple{d.StripSize}, nil
	case proto.DistBasic:
		return basic{}, nil
	case proto.DistVar:
		return parseStrips(d.Strips)
	case proto.DistTwoD:
		if err := checkStrip(d); err != nil {
			return nil, err
		}
		if d.Groups == 0 || d.Factor == 0 || int64(d.Factor) > GroupBytesMax/d.StripSize {
			return nil, fmt.Errorf("%w: %s with %d groups and factor %d", ErrParameters, d.Name, d.Groups, d.Factor)
		}
		return twoD{strip: d.StripSize, groups: int64(d.Groups), factor: int64(d.Factor)}, nil
	}
	return nil, fmt.Errorf("%w: unknown name %.64q", ErrParameters, d.Name)
}

// Default is the distribution of a name with the parameters that stock clients
// give when nobody says otherwise.
func Default(name string) proto.Dist {
	d := proto.Dist{Name: name}
	switch name {
	case proto.DistStripe:
		d.StripSize = proto.StripSize64
	case proto.DistTwoD:
		d.StripSize, d.Groups, d.Factor = proto.StripSize64, defaultTwoDGroups, defaultTwoDFactor
	}
	return d
}

func checkStrip(d proto.Dist) error {
	if d.StripSize <= 0 || d.StripSize > StripBytesMax {
		return fmt.Errorf("%w: %s with strips of %d bytes", ErrParameters, d.Name, d.StripSize)
	}
	return nil
}

// checkCount is Check of what works with any number of datafiles.
func checkCount(n int) error {
	if n < 1 || n > proto.MaxDatafiles {
		return fmt.Errorf("%w: %d datafiles", ErrParameters, n)
	}
	return nil
}

// count is Count of the same.
func count(want int) int { return min(max(want, 1), proto.MaxDatafiles) }

// size is Size for every map: what the datafile that reaches farthest says.
func size(m Map, sizes []int64) int64 {
	end := int64(0)
	for i, s := range sizes {
		// Bytes on a datafile that should be empty are not the file's.
		if s > 0 && m.Run(i, s-1, len(sizes)) > 0 {
			end = max(end, mulAdd(1, m.Logical(i, s-1, len(sizes)), 1))
		}
	}
	return end
}

// mulAdd is a*b+c for numbers from 0 on, and no more than math.MaxInt64.
func mulAdd(a, b, c int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	sum, carry := bits.Add64(lo, uint64(c), 0)
	if hi != 0 || carry != 0 || sum > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(sum)
}

// clamp is v, brought between 0 and top.
func clamp(v, top int64) int64 { return min(max(v, 0), top) }
