package server

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// TestBucketsOfCapture: the places of the names name1 ... name12 on a stock server.
func TestBucketsOfCapture(t *testing.T) {
	d := spreadOver([]proto.Handle{1, 2}, 2, 100)
	require.Equal(t, proto.DistDir{
		TreeHeight: 1, SplitSize: 100, BranchLevel: 1, Bitmap: []uint32{3}, Dirdata: []proto.Handle{1, 2},
	}, d)
	for i := 1; i <= 12; i++ {
		want := 0
		switch i {
		case 1, 4, 8, 11:
			want = 1
		}
		require.Equal(t, want, bucketOf(&d, fmt.Sprintf("name%d", i)), i)
	}
	one := spreadOver([]proto.Handle{1}, 1, 100)
	require.EqualValues(t, 0, one.TreeHeight)
	require.EqualValues(t, 0, one.BranchLevel)
	require.Equal(t, []uint32{1}, one.Bitmap)
}

// TestBucketsDivide: in any order of divisions, a name that leaves an object goes to the one that it divided with.
func TestBucketsDivide(t *testing.T) {
	for _, n := range []int{1, 2, 3, 4, 5, 7, 8, 9, 31, 33, 40} {
		d := spreadOver(make([]proto.Handle, n), 1, 1)
		for {
			grew := false
			for i := n - 1; i >= 0; i-- {
				mine := ofBucket(d, i)
				j := dividesWith(&mine)
				if j < 0 {
					continue
				}
				next := d
				use(&next, j, true)
				for k := range 32 {
					name := fmt.Sprint("n", k)
					before, after := bucketOf(&d, name), bucketOf(&next, name)
					if after != before {
						require.Equal(t, i, before)
						require.Equal(t, j, after)
					}
				}
				d, grew = next, true
			}
			if !grew {
				break
			}
		}
		for i := range n {
			require.True(t, inUse(&d, i), "%d of %d", i, n)
		}
	}
}

func TestBucketsHostile(t *testing.T) {
	for _, d := range []proto.DistDir{
		{}, {TreeHeight: frozen}, {TreeHeight: 31}, {TreeHeight: 64}, {TreeHeight: 5, Bitmap: []uint32{0}},
	} {
		require.NotPanics(t, func() { bucketOf(&d, "x"); levelOf(&d, 40); dividesWith(&d) })
	}
}
