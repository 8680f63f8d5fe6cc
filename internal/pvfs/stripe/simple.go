package stripe

import (
	"math"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// simple is simple_stripe: strips go to the datafiles in turn.
type simple struct{ strip int64 }

func (s simple) Name() string          { return proto.DistStripe }
func (s simple) Check(n int) error     { return checkCount(n) }
func (s simple) Count(want int) int    { return count(want) }
func (s simple) StripSize() int64      { return s.strip }
func (s simple) BlockSize(n int) int64 { return s.strip * int64(n) }

func (s simple) Place(off int64, n int) (datafile int, phys int64) {
	k := off / s.strip
	return int(k % int64(n)), k/int64(n)*s.strip + off%s.strip
}

func (s simple) Logical(datafile int, phys int64, n int) int64 {
	return mulAdd(phys/s.strip, s.strip*int64(n), int64(datafile)*s.strip+phys%s.strip)
}

func (s simple) Run(_ int, phys int64, n int) int64 {
	if n == 1 {
		return math.MaxInt64 - phys
	}
	return s.strip - phys%s.strip
}

func (s simple) Size(sizes []int64) int64 { return size(s, sizes) }

func (s simple) Cut(size int64, datafile, n int) int64 {
	stripe := s.strip * int64(n)
	return size/stripe*s.strip + clamp(size%stripe-int64(datafile)*s.strip, s.strip)
}

// basic is basic_dist: all bytes are on one datafile.
type basic struct{}

func (basic) Name() string        { return proto.DistBasic }
func (basic) Check(n int) error   { return checkCount(n) }
func (basic) Count(int) int       { return 1 }
func (basic) StripSize() int64    { return basicBlockBytes }
func (basic) BlockSize(int) int64 { return basicBlockBytes }

func (basic) Place(off int64, _ int) (datafile int, phys int64) { return 0, off }

func (basic) Logical(datafile int, phys int64, _ int) int64 {
	if datafile != 0 {
		return math.MaxInt64
	}
	return phys
}

func (basic) Run(datafile int, phys int64, _ int) int64 {
	if datafile != 0 {
		return 0
	}
	return math.MaxInt64 - phys
}

func (basic) Size(sizes []int64) int64 {
	if len(sizes) == 0 {
		return 0
	}
	return max(sizes[0], 0)
}

func (basic) Cut(size int64, datafile, _ int) int64 {
	if datafile != 0 {
		return 0
	}
	return size
}
