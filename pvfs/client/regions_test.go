package client

import (
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/datatype"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// TestRegionsThatGoBack: regions in any order are one request if they do not overlap.
func TestRegionsThatGoBack(t *testing.T) {
	file := []byte("0123456789abcdefghij")
	read := func(size int64, spans ...[2]int64) (text string, requests int, err error) {
		total, regions := int64(0), []Region(nil)
		for _, s := range spans {
			total += s[1]
			regions = append(regions, Region{Off: s[0], Len: s[1]})
		}
		b := make([]byte, total)
		n, err := eachRegion(memoryOf(b), regions, func(req proto.FileRequest, part memory) (n int64, err error) {
			requests++
			at := int64(0)
			for r := range datatype.Regions(req, 0, part.size) {
				for p := range part.parts(at, r.Len) {
					got := copy(p, file[min(r.Off, size):size])
					n += int64(got)
					if r.Off += int64(got); got < len(p) {
						return n, io.EOF
					}
				}
				at += r.Len
			}
			return n, nil
		})
		return string(b[:n]), requests, err
	}
	for _, c := range []struct {
		size     int64
		regions  [][2]int64
		want     string
		requests int
		err      error
	}{
		{20, [][2]int64{{15, 3}, {0, 2}, {10, 1}, {5, 4}}, "fgh01a5678", 1, nil},
		{20, [][2]int64{{0, 2}, {5, 2}}, "0156", 1, nil},
		{20, [][2]int64{{5, 0}, {2, 2}, {5, 0}, {0, 2}}, "2301", 1, nil},
		{20, [][2]int64{{5, 4}, {3, 4}}, "56783456", 2, nil},
		{20, [][2]int64{{5, 4}, {5, 4}}, "56785678", 2, nil},
		{16, [][2]int64{{15, 3}, {0, 2}}, "f", 1, io.EOF},
		{16, [][2]int64{{4, 2}, {15, 3}, {0, 2}}, "45f", 1, io.EOF},
		{15, [][2]int64{{4, 2}, {15, 3}, {0, 2}}, "45", 1, io.EOF},
		{20, [][2]int64{{4, 2}, {0, 2}, {19, 2}}, "4501j", 1, io.EOF},
	} {
		text, requests, err := read(c.size, c.regions...)
		require.Equal(t, c.err, err, c.regions)
		assert.Equal(t, c.want, text, c.regions)
		assert.Equal(t, c.requests, requests, c.regions)
	}
}
