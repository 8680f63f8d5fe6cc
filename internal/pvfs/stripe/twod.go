package stripe

import (
	"math"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// twoD is twod_stripe: the datafiles are divided into groups. First come factor strips for each datafile of the first group,
// striped over that group. Then come those of the next group, and after the last group the first one again.
type twoD struct{ strip, groups, factor int64 }

func (t twoD) Name() string          { return proto.DistTwoD }
func (t twoD) Check(n int) error     { return checkCount(n) }
func (t twoD) Count(want int) int    { return count(want) }
func (t twoD) StripSize() int64      { return t.strip }
func (t twoD) BlockSize(n int) int64 { return t.strip * int64(n) }

// group is a group of datafiles: the index of the first one, and their number.
type group struct{ first, count int64 }

// small is the number of groups in use, and the number of datafiles in each group except the last, which also takes the rest.
func (t twoD) small(n int64) (groups, each int64) {
	groups = min(t.groups, n)
	return groups, n / groups
}

func (t twoD) nth(i, n int64) group {
	groups, each := t.small(n)
	g := group{first: i * each, count: each}
	if i == groups-1 {
		g.count = n - g.first
	}
	return g
}

func (t twoD) of(datafile int, n int64) group {
	groups, each := t.small(n)
	return t.nth(min(int64(datafile)/each, groups-1), n)
}

func (t twoD) Place(off int64, n int) (datafile int, phys int64) {
	share := t.strip * t.factor // of one datafile in one round over all groups
	round := share * int64(n)
	phys, off = off/round*share, off%round
	groups, each := t.small(int64(n))
	g := t.nth(min(off/(each*share), groups-1), int64(n))
	off -= g.first * share
	row := g.count * t.strip
	phys, off = phys+off/row*t.strip, off%row
	return int(g.first + off/t.strip), phys + off%t.strip
}

func (t twoD) Logical(datafile int, phys int64, n int) int64 {
	share := t.strip * t.factor
	g := t.of(datafile, int64(n))
	rest := phys % share
	off := g.first*share + rest/t.strip*(g.count*t.strip) + (int64(datafile)-g.first)*t.strip + rest%t.strip
	return mulAdd(phys/share, share*int64(n), off)
}

func (t twoD) Run(_ int, phys int64, n int) int64 {
	if n == 1 {
		return math.MaxInt64 - phys
	}
	return t.strip - phys%t.strip
}

func (t twoD) Size(sizes []int64) int64 { return size(t, sizes) }

func (t twoD) Cut(size int64, datafile, n int) int64 {
	share := t.strip * t.factor
	round := share * int64(n)
	whole := size / round * share
	g := t.of(datafile, int64(n))
	rest := clamp(size%round-g.first*share, g.count*share)
	row := g.count * t.strip
	return whole + rest/row*t.strip + clamp(rest%row-(int64(datafile)-g.first)*t.strip, t.strip)
}
