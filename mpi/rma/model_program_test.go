package rma_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/viaduct-hpc/viaduct/mpi/datatype"
)

// A program is what all ranks of a job do with one window, in phases. Each part of the window has
// cells, numbers of 8 bytes, and an area of bytes for each rank. In a phase, a cell has one use, so
// that its outcome is determined, or at least the set of possible outcomes is; an area is changed by
// its rank alone.
type program struct {
	seed   uint64
	ranks  int
	phases []phase
}

const (
	cells     = 12
	areaBytes = 3000
)

// A sync is how a phase synchronises.
type sync uint8

const (
	byFence sync = iota
	byPost
	byLock    // an exclusive or shared lock for each operation
	byLockAll // one for all
	syncs
)

type phase struct {
	by  sync
	ops []op
}

// A use is what an operation does.
type use uint8

const (
	useGet     use = iota // read a cell that no operation changes
	usePut                // write a cell that no other operation uses
	useAdd                // accumulate
	useFetch              // fetch and add
	useSwap               // compare with the value at the beginning, and swap
	useCount              // lock, get, put one more, unlock; only byLock
	usePutArea            // write a part of an area, in some layout
	useGetArea            // read it
	useReplace            // accumulate twice with Replace, in order
	useSmall              // accumulate two numbers of 16 bits, which no instruction changes
	uses
)

type op struct {
	origin, target int
	use            use
	cell           int
	value          int64
	at, n, stride  int   // bytes of an area: where they begin, how many, how far apart
	wait           uint8 // 0: ignore the request; 1: wait for it; 2: flush, and 3: flush locally, if that is allowed
}

func (o op) String() string {
	return fmt.Sprintf("rank %d at %d: use %d of cell %d with %d; bytes %d+%d·%d", o.origin, o.target, o.use, o.cell, o.value, o.at, o.n, o.stride)
}

// generate makes a program.
func generate(seed uint64) program {
	r := rand.New(rand.NewPCG(seed, 12))
	p := program{seed: seed, ranks: 2 + r.IntN(3)}
	for range 3 + r.IntN(6) {
		p.phases = append(p.phases, p.phase(r))
	}
	return p
}

func (p *program) phase(r *rand.Rand) phase {
	ph := phase{by: sync(r.IntN(int(syncs)))}
	for target := range p.ranks {
		for cell := range cells {
			u := use(r.IntN(int(uses)))
			switch u {
			case usePutArea, useGetArea:
				continue
			case useCount:
				if ph.by != byLock {
					continue
				}
			}
			ph.ops = append(ph.ops, p.onCell(r, u, target, cell)...)
		}
	}
	for origin := range p.ranks {
		u := usePutArea
		if r.IntN(2) == 0 {
			u = useGetArea
		}
		target, at := r.IntN(p.ranks), 0
		for at < areaBytes/2 && r.IntN(4) > 0 {
			o := op{origin: origin, target: target, use: u, at: at, n: 1 + r.IntN(200), stride: 1 + r.IntN(3), value: r.Int64(), wait: uint8(r.IntN(4))}
			if r.IntN(5) == 0 {
				o.n, o.stride = areaBytes-at, 1
			}
			if end := at + o.n*o.stride; end <= areaBytes {
				ph.ops = append(ph.ops, o)
				at = end
			} else {
				break
			}
		}
	}
	r.Shuffle(len(ph.ops), func(i, j int) { ph.ops[i], ph.ops[j] = ph.ops[j], ph.ops[i] })
	return ph
}

// onCell returns the operations of one use of a cell.
func (p *program) onCell(r *rand.Rand, u use, target, cell int) (ops []op) {
	many := 1
	if u != usePut && u != useReplace {
		many = 1 + r.IntN(2*p.ranks)
	}
	for range many {
		ops = append(ops, op{
			origin: r.IntN(p.ranks), target: target, use: u, cell: cell,
			value: 1 + r.Int64N(1000), wait: uint8(r.IntN(4)),
		})
	}
	return ops
}

// layout returns the datatype of an operation on an area: n bytes, stride apart.
func (o *op) layout() *datatype.Type {
	t, err := datatype.Vector(o.n, 1, o.stride, datatype.Byte)
	if err != nil {
		panic(err) // the generator made it
	}
	return t
}

// byteOf returns byte i that an operation writes to an area.
func (o *op) byteOf(i int) byte { return byte(uint64(o.value)>>(i%8*8)) + byte(i) }

// place returns where the area of an operation's rank begins in a part.
func (o *op) place() int { return 8*cells + o.origin*areaBytes }
