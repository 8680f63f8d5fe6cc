package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
)

// A phase is what the traced program did between two breakpoints.
type phase struct {
	name     string
	messages int
	counts   map[string]int // instructions of all messages, by function or line
}

// perMessage is the number of instructions that one message took.
func (p *phase) perMessage() float64 {
	sum := 0
	for _, n := range p.counts {
		sum += n
	}
	return float64(sum) / float64(p.messages)
}

// print writes a table, without what takes less than least instructions per message.
func (p *phase) print(w io.Writer, least float64) {
	fmt.Fprintf(w, "%s: %.0f instructions per message\n", p.name, p.perMessage())
	names := slices.SortedFunc(maps.Keys(p.counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(p.counts[b], p.counts[a]), cmp.Compare(a, b))
	})
	rest := 0.0
	for _, name := range names {
		each := float64(p.counts[name]) / float64(p.messages)
		if each < least {
			rest += each
			continue
		}
		fmt.Fprintf(w, "%8.1f  %s\n", each, name)
	}
	fmt.Fprintf(w, "%8.1f  everything else\n\n", rest)
}
