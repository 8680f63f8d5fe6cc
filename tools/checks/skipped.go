package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/viaduct-hpc/viaduct/internal/need"
)

// skippedLinesMax is how many lines the summary of skipped tests has at most.
const skippedLinesMax = 10

// skipped are the skipped tests in order.
func (f *fold) skipped() (all []outcome) {
	for _, o := range f.outcomes {
		if o.Action == "skip" && o.Test != "" {
			all = append(all, o)
		}
	}
	slices.SortFunc(all, func(a, b outcome) int {
		return cmp.Or(strings.Compare(a.Package, b.Package), strings.Compare(a.Test, b.Test))
	})
	return all
}

// printSkipped says in a few lines how many tests were skipped, for want of what, and what would make them run.
func (f *fold) printSkipped(w io.Writer, file string) {
	all := f.skipped()
	if len(all) == 0 {
		return
	}
	packages := make(map[string]bool) // of Debian
	byNeed, whys := make(map[string]int), make(map[string]string)
	var installable, soak, other int
	for _, o := range all {
		what, why, isNeed := need.Reason(o.Reason)
		switch install := strings.Fields(need.Packages(what)); {
		case isNeed && len(install) > 0 && what != need.Peers:
			installable++
			for _, p := range install {
				packages[p] = true
			}
		case isNeed:
			byNeed[what]++
			whys[what] = why
		case strings.HasPrefix(o.Reason, need.SoakPrefix):
			soak++
		default:
			other++
		}
	}
	fmt.Fprintf(w, "%d skipped; %s lists them:\n", len(all), file)
	if installable > 0 {
		fmt.Fprintf(w, "  %4d need programs: apt-get install %s\n", installable, strings.Join(slices.Sorted(maps.Keys(packages)), " "))
	}
	names := slices.SortedFunc(maps.Keys(byNeed), func(a, b string) int {
		return cmp.Or(byNeed[b]-byNeed[a], strings.Compare(a, b))
	})
	const most = skippedLinesMax - 5
	rest := 0
	for i, name := range names {
		if i < most {
			fmt.Fprintf(w, "  %4d need %s: %s\n", byNeed[name], name, firstLine(whys[name]))
			continue
		}
		rest += byNeed[name]
	}
	if rest > 0 {
		fmt.Fprintf(w, "  %4d need %s\n", rest, strings.Join(names[most:], ", "))
	}
	if soak > 0 {
		fmt.Fprintf(w, "  %4d run in the soak tier only: make soak\n", soak)
	}
	if other > 0 {
		fmt.Fprintf(w, "  %4d do not apply to what they test\n", other)
	}
}

// firstLine is the first line of a text, of at most 120 bytes.
func firstLine(text string) string {
	text, _, _ = strings.Cut(text, "\n")
	if len(text) > 120 {
		text = text[:117] + "..."
	}
	return text
}
