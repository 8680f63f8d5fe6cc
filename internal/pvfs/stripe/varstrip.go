package stripe

import (
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// strip is one of the strips in a varstrip_dist.
type strip struct {
	datafile int
	off      int64 // in the stripe
	phys     int64 // bytes of earlier strips in the stripe on the same datafile
	size     int64
}

func (s strip) end() int64 { return s.off + s.size }

// variable is varstrip_dist: strips with given sizes and datafiles, repeated. The strips cover the stripe without gaps, and every
// datafile has at least one.
type variable struct {
	strips []strip
	mine   [][]strip // the strips by datafile
	share  []int64   // bytes of a datafile in one stripe
	stripe int64     // bytes
}

// parseStrips parses repeated "datafile:size;". A size may end in K, M or G.
func parseStrips(text string) (Map, error) {
	bad := func(why string) (Map, error) {
		return nil, fmt.Errorf("%w: %s %.64q: %s", ErrParameters, proto.DistVar, text, why)
	}
	if len(text) >= StripsTextMax {
		return bad("text is too long")
	}
	v := &variable{}
	for part := range strings.SplitSeq(text, ";") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		number, size, _ := strings.Cut(part, ":")
		datafile, err := strconv.ParseUint(strings.TrimSpace(number), 10, 32)
		if err != nil || datafile >= proto.MaxDatafiles {
			return bad("no datafile's number before a colon")
		}
		bytes, ok := parseSize(strings.TrimSpace(size))
		if !ok {
			return bad("no size after a colon")
		}
		v.add(int(datafile), bytes)
	}
	if len(v.strips) == 0 {
		return bad("no strips")
	}
	for i, bytes := range v.share {
		if bytes == 0 {
			return bad("no strip on datafile " + strconv.Itoa(i))
		}
	}
	return v, nil
}

func parseSize(text string) (int64, bool) {
	unit := int64(1)
	if text != "" {
		switch text[len(text)-1] | 0x20 {
		case 'k':
			unit = 1 << 10
		case 'm':
			unit = 1 << 20
		case 'g':
			unit = 1 << 30
		}
	}
	if unit > 1 {
		text = text[:len(text)-1]
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= 0 || n > StripBytesMax/unit {
		return 0, false
	}
	return n * unit, true
}

func (v *variable) add(datafile int, size int64) {
	for len(v.share) <= datafile {
		v.share, v.mine = append(v.share, 0), append(v.mine, nil)
	}
	s := strip{datafile: datafile, off: v.stripe, phys: v.share[datafile], size: size}
	v.strips = append(v.strips, s)
	v.mine[datafile] = append(v.mine[datafile], s)
	v.share[datafile] += size
	v.stripe += size
}

func (v *variable) Name() string        { return proto.DistVar }
func (v *variable) Count(int) int       { return len(v.share) }
func (v *variable) BlockSize(int) int64 { return v.stripe }

// StripSize is 0 if the first strip is not on the first datafile: then the first bytes of the file are not there for any n.
func (v *variable) StripSize() int64 {
	if v.strips[0].datafile != 0 {
		return 0
	}
	return v.strips[0].size
}

// Check accepts more datafiles than the strips name; the additional ones stay empty. It also accepts a single datafile, which has
// all bytes in order: its file has not got the other datafiles yet.
func (v *variable) Check(n int) error {
	if n != 1 && n < len(v.share) {
		return fmt.Errorf("%w: %s over %d datafiles in a file of %d", ErrParameters, proto.DistVar, len(v.share), n)
	}
	return checkCount(n)
}

func (v *variable) Place(off int64, n int) (datafile int, phys int64) {
	if n == 1 {
		return 0, off
	}
	turn, rest := off/v.stripe, off%v.stripe
	i := sort.Search(len(v.strips), func(i int) bool { return v.strips[i].end() > rest })
	s := v.strips[i]
	return s.datafile, turn*v.share[s.datafile] + s.phys + rest - s.off
}

// at is the strip of a datafile that has phys, the number of stripes before it, and the offset of phys in the strip.
func (v *variable) at(datafile int, phys int64) (s strip, turn, rest int64) {
	mine := v.mine[datafile]
	turn, rest = phys/v.share[datafile], phys%v.share[datafile]
	i := sort.Search(len(mine), func(i int) bool { return mine[i].phys+mine[i].size > rest })
	return mine[i], turn, rest - mine[i].phys
}

func (v *variable) Logical(datafile int, phys int64, n int) int64 {
	if n == 1 {
		return phys
	}
	if datafile >= len(v.share) {
		return math.MaxInt64
	}
	s, turn, rest := v.at(datafile, phys)
	return mulAdd(turn, v.stripe, s.off+rest)
}

func (v *variable) Run(datafile int, phys int64, n int) int64 {
	if n == 1 || len(v.share) == 1 && datafile == 0 {
		return math.MaxInt64 - phys
	}
	if datafile >= len(v.share) {
		return 0
	}
	s, _, rest := v.at(datafile, phys)
	return s.size - rest
}

func (v *variable) Size(sizes []int64) int64 {
	return size(v, sizes)
}

func (v *variable) Cut(size int64, datafile, n int) int64 {
	if n == 1 {
		return size
	}
	if datafile >= len(v.share) {
		return 0
	}
	turn, rest := size/v.stripe, size%v.stripe
	mine := v.mine[datafile]
	i := sort.Search(len(mine), func(i int) bool { return mine[i].end() > rest })
	if i == len(mine) {
		return (turn + 1) * v.share[datafile]
	}
	return turn*v.share[datafile] + mine[i].phys + clamp(rest-mine[i].off, mine[i].size)
}
