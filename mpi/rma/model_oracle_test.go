package rma_test

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
)

// An outcome is what a run of a program shows: what each operation returned, and the parts of the
// window after each phase.
type outcome struct {
	old   [][]int64  // by phase and operation: the former value of the cell
	area  [][][]byte // by phase and operation: the bytes read from an area
	parts [][][]byte // by phase and rank
}

func newOutcome(p *program) *outcome {
	o := &outcome{}
	for _, ph := range p.phases {
		o.old = append(o.old, make([]int64, len(ph.ops)))
		o.area = append(o.area, make([][]byte, len(ph.ops)))
		o.parts = append(o.parts, make([][]byte, p.ranks))
	}
	return o
}

// check compares the outcome of a program with what the standard allows.
func (o *outcome) check(p *program) error {
	parts := make([][]byte, p.ranks)
	for rank := range parts {
		parts[rank] = make([]byte, partBytes(p.ranks))
	}
	for i := range p.phases {
		for rank := range parts {
			if err := o.checkPart(p, i, rank, parts[rank]); err != nil {
				return fmt.Errorf("seed %d, phase %d (by %d), rank %d: %w", p.seed, i, p.phases[i].by, rank, err)
			}
			parts[rank] = o.parts[i][rank] // what was allowed and has happened
		}
	}
	return nil
}

func partBytes(ranks int) int { return 8*cells + ranks*areaBytes }

// checkPart checks what a phase did to a rank's part.
func (o *outcome) checkPart(p *program, phase, rank int, before []byte) error {
	after := o.parts[phase][rank]
	want := bytes.Clone(before)
	onCell := make([][]result, cells)
	for i, op := range p.phases[phase].ops {
		if op.target != rank {
			continue
		}
		switch op.use {
		case usePutArea:
			for k := range op.n {
				want[op.place()+op.at+k*op.stride] = op.byteOf(k)
			}
		case useGetArea:
			for k := range op.n {
				if got := o.area[phase][i][k]; got != before[op.place()+op.at+k*op.stride] {
					return fmt.Errorf("%v: byte %d is %d", op, k, got)
				}
			}
		default:
			onCell[op.cell] = append(onCell[op.cell], result{op, o.old[phase][i]})
		}
	}
	if !bytes.Equal(want[8*cells:], after[8*cells:]) {
		return fmt.Errorf("the areas are not what was put there")
	}
	for cell, all := range onCell {
		was, is := cellOf(before, cell), cellOf(after, cell)
		if err := checkCell(all, was, is); err != nil {
			return fmt.Errorf("cell %d, from %d to %d: %w", cell, was, is, err)
		}
	}
	return nil
}

func cellOf(part []byte, cell int) int64 { return int64(binary.NativeEndian.Uint64(part[8*cell:])) }

// A result is an operation on a cell, and the former value that it returned.
type result struct {
	op
	old int64
}

// checkCell checks all operations on a cell in a phase. All have the same use.
func checkCell(all []result, was, is int64) error {
	if len(all) == 0 {
		return equal(was, is, "nobody touched it")
	}
	switch all[0].use {
	case useGet:
		for _, r := range all {
			if r.old != was {
				return fmt.Errorf("%v: it read %d", r.op, r.old)
			}
		}
		return equal(was, is, "it was only read")
	case usePut:
		return equal(all[0].value, is, "the value that was put")
	case useReplace:
		return equal(-all[0].value, is, "the value of the second of two accumulates")
	case useAdd:
		for _, r := range all {
			was += r.value
		}
		return equal(was, is, "the sum")
	case useSmall:
		part := binary.NativeEndian.AppendUint64(nil, uint64(was))
		for i, sign := range []uint16{1, ^uint16(0)} {
			sum := binary.NativeEndian.Uint16(part[2*i:])
			for _, r := range all {
				sum += sign * uint16(r.value)
			}
			binary.NativeEndian.PutUint16(part[2*i:], sum)
		}
		return equal(int64(binary.NativeEndian.Uint64(part)), is, "the small sums")
	case useCount:
		return equal(was+int64(len(all)), is, "one more for each lock")
	case useFetch:
		slices.SortFunc(all, func(a, b result) int { return cmp.Compare(a.old, b.old) })
		for _, r := range all {
			if r.old != was {
				return fmt.Errorf("%v: it fetched %d, and no order of all of them explains that", r.op, r.old)
			}
			was += r.value
		}
		return equal(was, is, "the sum")
	}
	winners := slices.DeleteFunc(slices.Clone(all), func(r result) bool { return r.old != swapExpects })
	if was != swapExpects {
		return equal(was, is, "all compared with another value")
	}
	if len(winners) != 1 {
		return fmt.Errorf("%d of %d swaps found the old value", len(winners), len(all))
	}
	for _, r := range all {
		if r.old != was && r.old != winners[0].value {
			return fmt.Errorf("%v: it found %d", r.op, r.old)
		}
	}
	return equal(winners[0].value, is, "the value of the first swap")
}

// swapExpects is what swaps compare a cell with: its value at the beginning of the program.
const swapExpects = int64(0)

func equal(want, got int64, what string) error {
	if want != got {
		return fmt.Errorf("want %d: %s", want, what)
	}
	return nil
}
