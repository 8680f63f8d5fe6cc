// Package sieve plans reads and writes of many ranges on files that have operations on one range
// only. Where ranges lie close together, it is faster to read or write all bytes between the first
// and the last of them at once (data sieving; Thakur, Gropp and Lusk, 1999).
//
// The package is pure.
package sieve

import (
	"iter"

	"github.com/viaduct-hpc/viaduct/mpi/internal/file/ranges"
)

const (
	// apartMax is how many bytes each range of a step may take, with the gap before the next one: a
	// system call costs about as much as the copying of that many.
	apartMax = 16 << 10
	// shortMax is the longest range that is sieved. For longer ones, the system call is a small
	// part of the cost.
	shortMax = 64 << 10
)

// A Step is a part of an operation: ranges whose bytes follow one another in memory, from Pos on.
// If Whole, they are read or written at once, with all bytes between them. Otherwise each is on its
// own.
type Step struct {
	List  ranges.List
	Pos   int64
	Whole bool
}

// Plan divides an operation into steps. A step that is Whole covers at most buffer bytes of the
// file. always says to sieve ranges that lie far apart, too.
func Plan(l ranges.List, buffer int64, always bool) iter.Seq[Step] {
	return func(yield func(Step) bool) {
		p := planner{yield: yield, buffer: buffer, always: always}
		for _, r := range l {
			if !p.run(r) {
				return
			}
		}
		p.flush()
	}
}

type planner struct {
	yield  func(Step) bool
	buffer int64
	always bool

	step     Step
	off, end int64 // of the step
}

// run adds a run. It returns false when yield did.
func (p *planner) run(r ranges.Run) bool {
	for r.Count > 0 {
		if r.Len > p.buffer || !p.always && r.Len > shortMax {
			return p.alone(r)
		}
		if len(p.step.List) > 0 && (r.Off < p.end || r.Off+r.Len-p.off > p.buffer || !p.near(r.Off+r.Len-p.end)) && !p.flush() {
			return false
		}
		if len(p.step.List) == 0 {
			p.off = r.Off
		}
		fit := int64(1)
		if r.Count > 1 && p.near(r.Stride) {
			fit = min(r.Count, (p.off+p.buffer-r.Off-r.Len)/r.Stride+1)
		}
		part := r
		part.Count = fit
		p.step.List.Add(part)
		p.end = part.End()
		r.Off, r.Count = r.Off+fit*r.Stride, r.Count-fit
	}
	return true
}

// near tells whether ranges that begin so far apart are sieved.
func (p *planner) near(apart int64) bool { return p.always || apart <= apartMax }

// alone adds a run whose ranges are not sieved.
func (p *planner) alone(r ranges.Run) bool {
	if !p.flush() {
		return false
	}
	p.step.List = ranges.List{r}
	return p.emit(false)
}

// flush ends the step. It returns false when yield did.
func (p *planner) flush() bool {
	if len(p.step.List) == 0 {
		return true
	}
	return p.emit(p.step.List.Count() > 1)
}

func (p *planner) emit(whole bool) bool {
	p.step.Whole = whole
	done := p.step
	p.step = Step{Pos: done.Pos + done.List.Bytes()}
	return p.yield(done)
}
