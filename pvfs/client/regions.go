package client

import (
	"cmp"
	"math"
	"slices"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/datatype"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// doRegions moves the bytes of a request. It returns how many of them lie before the end of the file, and io.EOF if those are not
// all.
type doRegions func(req proto.FileRequest, part memory) (int64, error)

// eachRegion calls do for the regions with as few requests as possible. done is how many bytes of mem come before the first one
// that was not moved.
func eachRegion(mem memory, regions []Region, do doRegions) (done int64, err error) {
	sum := int64(0)
	for _, r := range regions {
		if r.Off < 0 || r.Len < 0 || r.Len > math.MaxInt64-r.Off || r.Len > mem.size-sum {
			return 0, proto.EINVAL
		}
		sum += r.Len
	}
	if sum != mem.size {
		return 0, proto.EINVAL
	}
	order, ok := fileOrder(regions)
	if !ok {
		return eachRun(mem, regions, do)
	}
	starts, at := make([]int64, len(regions)), int64(0) // of each region in mem
	for i, r := range regions {
		starts[i], at = at, at+r.Len
	}
	sorted, bufs := make([]Region, len(regions)), make([][]byte, 0, len(regions))
	for i, from := range order {
		sorted[i] = regions[from]
		for part := range mem.parts(starts[from], regions[from].Len) {
			bufs = append(bufs, part)
		}
	}
	moved, err := eachRun(memoryOf(bufs...), sorted, do)
	return doneOf(regions, order, moved), err
}

// fileOrder is the order of the regions by offset. ok is false if they are in that order already, or if they overlap.
func fileOrder(regions []Region) (order []int, ok bool) {
	byOffset := func(a, b Region) int { return cmp.Compare(a.Off, b.Off) }
	if slices.IsSortedFunc(regions, byOffset) {
		return nil, false
	}
	order = make([]int, len(regions))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return byOffset(regions[a], regions[b]) })
	end := int64(0)
	for _, i := range order {
		if r := regions[i]; r.Len > 0 {
			if r.Off < end {
				return nil, false
			}
			end = r.Off + r.Len
		}
	}
	return order, true
}

// doneOf is how many bytes come before the first one that was not moved, if moved bytes were moved in file order.
func doneOf(regions []Region, order []int, moved int64) (done int64) {
	of := make([]int64, len(regions))
	for _, i := range order {
		of[i] = min(moved, regions[i].Len)
		moved -= of[i]
	}
	for i, n := range of {
		if done += n; n < regions[i].Len {
			break
		}
	}
	return done
}

// eachRun calls do for runs of ascending regions, each as long as one request may be.
func eachRun(mem memory, regions []Region, do doRegions) (done int64, err error) {
	for len(regions) > 0 {
		run, rest := ascending(regions)
		regions = rest
		if len(run) == 0 {
			continue
		}
		bytes := int64(0)
		for _, r := range run {
			bytes += r.Len
		}
		req, err := datatype.Indexed(run)
		if err != nil {
			return done, proto.EINVAL
		}
		n, err := do(req, mem.sub(done, bytes))
		done += n
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// ascending splits the regions into the first run that ascends and fits into one request, and the rest.
func ascending(regions []Region) (run, rest []Region) {
	for i, r := range regions {
		if r.Len == 0 {
			continue
		}
		end := int64(0)
		if n := len(run); n > 0 {
			end = run[n-1].Off + run[n-1].Len
		}
		if r.Off < end || len(run) == datatype.RegionsMax {
			return run, regions[i:]
		}
		for r.Len > math.MaxInt32 {
			// One node counts its bytes in 31 bits.
			if len(run) == datatype.RegionsMax {
				break
			}
			run = append(run, Region{Off: r.Off, Len: math.MaxInt32})
			r.Off, r.Len = r.Off+math.MaxInt32, r.Len-math.MaxInt32
		}
		if len(run) == datatype.RegionsMax {
			return run, append([]Region{r}, regions[i+1:]...)
		}
		run = append(run, r)
	}
	return run, nil
}
