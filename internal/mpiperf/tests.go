package mpiperf

import (
	"fmt"
	"slices"
	"strings"

	"github.com/viaduct-hpc/viaduct/internal/perf"
	"github.com/viaduct-hpc/viaduct/mpi"
)

// A kind is a group of tests, and the name by which ParseTests knows it.
type kind string

const (
	messages    kind = "messages" // between ranks 0 and 1
	collectives kind = "collectives"
	oneSided    kind = "one-sided" // of rank 0 at rank 1
	files       kind = "files"     // of all ranks; sizes are powers of two

	all kind = "all" // but files, which need a name
)

// messagesMax is the largest message measured by default, and collectiveMax the largest size
// of collective and one-sided operations, in bytes, as in the OSU set.
const (
	messagesMax   = 4 << 20
	collectiveMax = 1 << 20
)

// A spec describes a test.
type spec struct {
	test perf.Test
	kind kind
	// sizeMin is the smallest size that makes sense, in bytes, and all are multiples of it. sizeMax
	// ends the default sizes.
	sizeMin, sizeMax int
	// apart: not all ranks wait for all others in it, so iterations are timed one by one.
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

// A job is a rank's part in a point. If it also has close, that ends it.
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

// specs are all tests, in the order of a full run.
var specs = slices.Concat(messageTests, movings, combinings, accesses, filings)

// paired tells whether a test is between two ranks, and measures the first.
func (s spec) paired() bool                  { return s.kind == messages || s.kind == oneSided }
func (s spec) memory(size, ranks, w int) int { return size * s.blocks(ranks, w) }

func (s spec) fits(size int) bool {
	return size >= s.sizeMin && size%max(1, s.sizeMin) == 0 && (s.kind != files || size&(size-1) == 0)
}

// specOf finds a test.
func specOf(t perf.Test) (spec, bool) {
	i := slices.IndexFunc(specs, func(s spec) bool { return s.test == t })
	if i < 0 {
		return spec{}, false
	}
	return specs[i], true
}

// ParseTests reads names of tests and of groups of them: messages, collectives, one-sided, files,
// and all but files.
func ParseTests(names []string) ([]perf.Test, error) {
	var out []perf.Test
	for _, name := range names {
		found := false
		for _, s := range specs {
			if name == string(s.test) || name == string(s.kind) || name == string(all) && s.kind != files {
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
	var names []string
	for _, s := range specs {
		names = append(names, string(s.test))
	}
	for _, k := range []kind{messages, collectives, oneSided, files, all} {
		names = append(names, string(k))
	}
	return strings.Join(names, ", ")
}
