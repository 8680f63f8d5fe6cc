package mpiperf

import (
	"fmt"
	"slices"
	"strings"

	"github.com/viaduct-hpc/viaduct/internal/perf"
	"github.com/viaduct-hpc/viaduct/mpi"
)

// The tests of collective operations. Those of messages are in perf: Latency, Rate,
// Bandwidth and Bidirectional.
const (
	Barrier            perf.Test = "barrier"
	Bcast              perf.Test = "bcast"
	Gather             perf.Test = "gather"
	Gatherv            perf.Test = "gatherv"
	Scatter            perf.Test = "scatter"
	Scatterv           perf.Test = "scatterv"
	Allgather          perf.Test = "allgather"
	Allgatherv         perf.Test = "allgatherv"
	Alltoall           perf.Test = "alltoall"
	Alltoallv          perf.Test = "alltoallv"
	Reduce             perf.Test = "reduce"
	Allreduce          perf.Test = "allreduce"
	ReduceScatter      perf.Test = "reduce_scatter"
	ReduceScatterBlock perf.Test = "reduce_scatter_block"
	Scan               perf.Test = "scan"
	Exscan             perf.Test = "exscan"
)

// The tests of one-sided operations: each begins one and completes it, by a flush, or Fence by a
// fence. FetchAndOp is a get-accumulate if there is more than one number.
const (
	Put        perf.Test = "put"
	Get        perf.Test = "get"
	FetchAndOp perf.Test = "fetch_and_op"
	Fence      perf.Test = "fence"
)

// Partitioned is Latency of messages in Partitions partitions.
const Partitioned perf.Test = "partitioned"

// The tests of a file that holds a three-dimensional array: in blocks, together or each rank on its
// own, and the same bytes with a contiguous range for each rank.
const (
	WriteAll        perf.Test = "write_all"
	ReadAll         perf.Test = "read_all"
	WriteStrided    perf.Test = "write_strided"
	ReadStrided     perf.Test = "read_strided"
	WriteContiguous perf.Test = "write_contiguous"
	ReadContiguous  perf.Test = "read_contiguous"
)

// messagesMax is the largest message measured by default, and collectiveMax the largest size
// of collective operations, in bytes, as in the OSU set. Files have fileMin to fileMax bytes.
const (
	messagesMax   = 4 << 20
	collectiveMax = 1 << 20
	fileMin       = 64 << 10
	fileMax       = 64 << 20
)

// A spec describes a test.
type spec struct {
	test perf.Test
	// sizeMin is the smallest size that makes sense, in bytes. sizeMax ends the default sizes.
	sizeMin, sizeMax int
	multiple         int  // sizes are multiples of it; 0: any
	messages         bool // between two ranks; otherwise collective, unless it is one-sided
	oneSided         bool // rank 0 at rank 1
	file             bool // of all ranks; sizes are powers of two
	// apart: not all ranks wait for all others in it, so iterations are timed one by one.
	// (In ReduceScatter a rank may get nothing, if there is too little for all.)
	apart bool
	// blocks is a rank's largest memory, in and out together, in units of the size.
	blocks func(ranks, window int) int
	// open prepares a rank's part.
	open func(c *mpi.Comm, s setup) (job, error)
}

// A setup is what a test is opened with.
type setup struct {
	size, window int
	created      bool   // a window has memory of the program
	file         string // the name of a file
}

// A job is a rank's part in a point.
type job interface {
	// ready is called before some iterations, outside of their time.
	ready(n int) error
	// once runs one iteration.
	once() error
	// fill sets memory to the contents of a round, and check checks the result after one
	// iteration.
	fill(round int)
	check(round int) error
}

func fixed(blocks int) func(int, int) int  { return func(int, int) int { return blocks } }
func windowed(each int) func(int, int) int { return func(_, window int) int { return 1 + each*window } }
func perRank(a, b int) func(int, int) int  { return func(ranks, _ int) int { return a + b*ranks } }

// paired tells whether a test is between two ranks, and measures the first.
func (s spec) paired() bool                  { return s.messages || s.oneSided }
func (s spec) memory(size, ranks, w int) int { return size * s.blocks(ranks, w) }

func (s spec) fits(size int) bool {
	return size >= s.sizeMin && size%max(1, s.multiple) == 0 && (!s.file || size&(size-1) == 0)
}

// specs are all tests, in the order of a full run.
var specs = []spec{
	{test: perf.Latency, sizeMax: messagesMax, messages: true, blocks: fixed(2), open: openPingPong},
	{test: perf.Rate, sizeMax: 4 << 10, messages: true, blocks: windowed(1), open: openPour},
	{test: perf.Bandwidth, sizeMin: 1, sizeMax: messagesMax, messages: true, blocks: windowed(1), open: openPour},
	{test: perf.Bidirectional, sizeMin: 1, sizeMax: messagesMax, messages: true, blocks: windowed(1), open: openExchange},
	{test: Partitioned, sizeMin: Partitions, sizeMax: messagesMax, multiple: Partitions, messages: true, blocks: fixed(2), open: openPartitioned},
	{test: Barrier, blocks: fixed(0), open: openBarrier},
	{test: Bcast, sizeMin: 1, sizeMax: collectiveMax, apart: true, blocks: fixed(1), open: bcast.open},
	{test: Gather, sizeMin: 1, sizeMax: collectiveMax, apart: true, blocks: perRank(1, 1), open: gather.open},
	{test: Gatherv, sizeMin: 1, sizeMax: collectiveMax, apart: true, blocks: perRank(1, 1), open: gatherv.open},
	{test: Scatter, sizeMin: 1, sizeMax: collectiveMax, apart: true, blocks: perRank(1, 1), open: scatter.open},
	{test: Scatterv, sizeMin: 1, sizeMax: collectiveMax, apart: true, blocks: perRank(1, 1), open: scatterv.open},
	{test: Allgather, sizeMin: 1, sizeMax: collectiveMax, blocks: perRank(1, 1), open: allgather.open},
	{test: Allgatherv, sizeMin: 1, sizeMax: collectiveMax, blocks: perRank(1, 1), open: allgatherv.open},
	{test: Alltoall, sizeMin: 1, sizeMax: collectiveMax, blocks: perRank(0, 2), open: alltoall.open},
	{test: Alltoallv, sizeMin: 1, sizeMax: collectiveMax, blocks: perRank(0, 2), open: alltoallv.open},
	{test: Reduce, sizeMin: floatBytes, sizeMax: collectiveMax, multiple: floatBytes, apart: true, blocks: fixed(2), open: reduce.open},
	{test: Allreduce, sizeMin: floatBytes, sizeMax: collectiveMax, multiple: floatBytes, blocks: fixed(2), open: allreduce.open},
	{test: ReduceScatter, sizeMin: floatBytes, sizeMax: collectiveMax, multiple: floatBytes, apart: true, blocks: fixed(2), open: reduceScatter.open},
	{test: ReduceScatterBlock, sizeMin: floatBytes, sizeMax: collectiveMax, multiple: floatBytes, blocks: perRank(1, 1), open: reduceScatterBlock.open},
	{test: Scan, sizeMin: floatBytes, sizeMax: collectiveMax, multiple: floatBytes, apart: true, blocks: fixed(2), open: scan.open},
	{test: Exscan, sizeMin: floatBytes, sizeMax: collectiveMax, multiple: floatBytes, apart: true, blocks: fixed(2), open: exscan.open},
	{test: Put, sizeMin: 1, sizeMax: collectiveMax, oneSided: true, blocks: fixed(3), open: put.open},
	{test: Get, sizeMin: 1, sizeMax: collectiveMax, oneSided: true, blocks: fixed(3), open: get.open},
	{test: FetchAndOp, sizeMin: floatBytes, sizeMax: collectiveMax, oneSided: true, multiple: floatBytes, blocks: fixed(3), open: fetchAndOp.open},
	{test: Fence, sizeMin: 1, sizeMax: collectiveMax, oneSided: true, blocks: fixed(3), open: fence.open},
	{test: WriteAll, sizeMin: fileMin, sizeMax: fileMax, file: true, blocks: fixed(1), open: writeAll.open},
	{test: ReadAll, sizeMin: fileMin, sizeMax: fileMax, file: true, blocks: fixed(1), open: readAll.open},
	{test: WriteStrided, sizeMin: fileMin, sizeMax: fileMax, file: true, blocks: fixed(1), open: writeStrided.open},
	{test: ReadStrided, sizeMin: fileMin, sizeMax: fileMax, file: true, blocks: fixed(1), open: readStrided.open},
	{test: WriteContiguous, sizeMin: fileMin, sizeMax: fileMax, file: true, blocks: fixed(1), open: writeContiguous.open},
	{test: ReadContiguous, sizeMin: fileMin, sizeMax: fileMax, file: true, blocks: fixed(1), open: readContiguous.open},
}

// specOf finds a test.
func specOf(t perf.Test) (spec, bool) {
	i := slices.IndexFunc(specs, func(s spec) bool { return s.test == t })
	if i < 0 {
		return spec{}, false
	}
	return specs[i], true
}

// Names of groups of tests.
const (
	groupAll         = "all"
	groupMessages    = "messages"
	groupCollectives = "collectives"
	groupOneSided    = "one-sided"
	groupFiles       = "files"
)

// in tells whether a test is in a group. Those of files, which need a name, are not in all.
func (s spec) in(group string) bool {
	switch group {
	case groupAll:
		return !s.file
	case groupMessages:
		return s.messages
	case groupCollectives:
		return !s.paired() && !s.file
	case groupOneSided:
		return s.oneSided
	case groupFiles:
		return s.file
	}
	return false
}

// ParseTests reads names of tests and of groups of them: messages, collectives, one-sided, files,
// and all but files.
func ParseTests(names []string) ([]perf.Test, error) {
	var out []perf.Test
	for _, name := range names {
		found := false
		for _, s := range specs {
			if name == string(s.test) || s.in(name) {
				found = true
				if !slices.Contains(out, s.test) {
					out = append(out, s.test)
				}
			}
		}
		if !found {
			return nil, fmt.Errorf("unknown test %q: choose from %s", name, TestNames())
		}
	}
	return out, nil
}

// TestNames lists the names that ParseTests accepts.
func TestNames() string {
	names := make([]string, 0, len(specs)+5)
	for _, s := range specs {
		names = append(names, string(s.test))
	}
	return strings.Join(append(names, groupMessages, groupCollectives, groupOneSided, groupFiles, groupAll), ", ")
}
