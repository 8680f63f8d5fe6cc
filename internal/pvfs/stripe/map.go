package stripe

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// Limits of parameters. With these, a whole stripe over proto.MaxDatafiles datafiles fits in an offset.
const (
	StripBytesMax     = 1 << 40 // of one strip
	GroupBytesMax     = 1 << 48 // strip size times factor, of a twod_stripe
	StripsTextMax     = 1024    // bytes of the text of a varstrip_dist
	basicBlockBytes   = 65536   // block size reported for basic_dist
	defaultTwoDGroups = 2
	defaultTwoDFactor = 256
)

// ErrParameters is wrapped by every error of this package: the distribution is unknown, its parameters are invalid, or it cannot
// have this number of datafiles.
var ErrParameters = errors.New("stripe: bad distribution")

// A Map is one distribution. Its methods are for 1 ≤ n ≤ proto.MaxDatafiles
// datafiles that passed Check, 0 ≤ datafile < n, and offsets from 0 on.
type Map interface {
	// Name is the distribution's name in the protocol.
	Name() string
	// Check reports whether a file of n datafiles can have this distribution.
	Check(n int) error
	// Count is the number of datafiles of a new file if want were requested: the nearest number that Check accepts.
	Count(want int) int
	// Place is the datafile and the offset there of the byte at the logical offset off.
	Place(off int64, n int) (datafile int, phys int64)
	// Logical is the offset in the file of the byte at phys of a datafile. It is math.MaxInt64 if a file cannot be that long, or
	// if the datafile never has a byte.
	Logical(datafile int, phys int64, n int) int64
	// Run is how many bytes from phys on are contiguous both in the datafile and in the file.
	Run(datafile int, phys int64, n int) int64
	// Size is the size in bytes of a file whose datafiles have the given sizes.
	Size(sizes []int64) int64
	// Cut is the size of a datafile after the file was truncated to size, which is how many of the file's first size bytes are on
	// it.
	Cut(size int64, datafile, n int) int64
	// StripSize is how many bytes at the beginning of a file are on its first datafile for any n.
	StripSize() int64
	// BlockSize is the best size of an I/O for stat, bytes.
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

// Default is the distribution with this name, and with the default parameters of stock clients.
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

// checkCount is Check for a distribution that works with any number of datafiles.
func checkCount(n int) error {
	if n < 1 || n > proto.MaxDatafiles {
		return fmt.Errorf("%w: %d datafiles", ErrParameters, n)
	}
	return nil
}

// count is Count for such a distribution.
func count(want int) int { return min(max(want, 1), proto.MaxDatafiles) }

// size is Size for every map: the datafile that reaches farthest decides.
func size(m Map, sizes []int64) int64 {
	end := int64(0)
	for i, s := range sizes {
		// Bytes on a datafile that should be empty do not belong to the file.
		if s > 0 && m.Run(i, s-1, len(sizes)) > 0 {
			end = max(end, mulAdd(1, m.Logical(i, s-1, len(sizes)), 1))
		}
	}
	return end
}

// mulAdd is a*b+c for numbers ≥ 0, limited to math.MaxInt64.
func mulAdd(a, b, c int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	sum, carry := bits.Add64(lo, uint64(c), 0)
	if hi != 0 || carry != 0 || sum > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(sum)
}

// clamp limits v to the range 0 to top.
func clamp(v, top int64) int64 { return min(max(v, 0), top) }
