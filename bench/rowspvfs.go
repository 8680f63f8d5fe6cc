package main

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/viaduct-hpc/viaduct/internal/perf"
)

// The marks of the file system: the factor by which it is faster than stock OrangeFS with
// stock OrangeFS.
const (
	pvfsInTCPReach          = 1.3
	pvfsInShmReach          = 1.7
	pvfsInBareAim           = 1.3 // × cp within memory, of the time over shared memory, at most
	pvfsOutTCPReach         = 1.5
	pvfsOutShmReach         = 2.5
	pvfsOutTCPAim           = 2.0
	pvfsOutShmAim           = 3.5
	pvfsMixedReach          = 1.0
	pvfsMixedAim            = 1.3
	pvfsNamesReach          = 2.0
	pvfsNamesAim            = 5.0
	pvfsIdleReach   float64 = 64 << 20 // bytes of a server
	pvfsIdleAim     float64 = 32 << 20
	pvfsRowsPrefix          = "pvfs: "
)

// pvfsRows are the rows of the table of aims about the file system.
func pvfsRows(all *results, c counts) []row {
	out := []row{
		pvfsCopyRow(all, "in", pvfsIn, pvfsTCP, pvfsInTCPReach, math.NaN()),
		pvfsCopyRow(all, "in", pvfsIn, pvfsShm, pvfsInShmReach, math.NaN()),
		pvfsCopyRow(all, "out to the null device", pvfsOut, pvfsTCP, pvfsOutTCPReach, pvfsOutTCPAim),
		pvfsCopyRow(all, "out to the null device", pvfsOut, pvfsShm, pvfsOutShmReach, pvfsOutShmAim),
		pvfsMixedRow(all, "our client, servers of OrangeFS", pvfsOnStock),
		pvfsMixedRow(all, "client of OrangeFS, our servers", pvfsForStock),
	}
	for _, clients := range []int{1, pvfsCrowd} {
		for _, act := range pvfsActs {
			for _, method := range []string{pvfsTCP, pvfsShm} {
				out = append(out, pvfsNamesRow(all, act, clients, method))
			}
		}
	}
	return append(out, pvfsIdleRow(c.PVFSServerBytes, oursTCP), pvfsIdleRow(c.PVFSServerShmBytes, ours), strangersRow(c.PVFSStrangers))
}

// pvfsSeconds is the time to copy the file, whatever its size.
func pvfsSeconds(all *results, method string, test perf.Test) float64 {
	for id := range all.values {
		if id.method == method && id.test == test {
			return value(all, method, test, id.size)
		}
	}
	return math.NaN()
}

// againstStock compares with stock on stock: the factor, and stock's time.
func againstStock(all *results, faster, theirs float64, format string) string {
	if math.IsNaN(theirs) {
		why, _, _ := strings.Cut(all.failures[pvfsStock], "failed: ") // the notes have the rest
		return cmp.Or(why, isUnknown)
	}
	return fmt.Sprintf("%s of orangefs (%s)", times(faster), fmt.Sprintf(format, theirs))
}

func pvfsCopyRow(all *results, what string, test perf.Test, method string, reach, aim float64) row {
	bareIs := pvfsBare
	if method == pvfsTCP {
		bareIs = pvfsSockets
	}
	our, theirs, bare := pvfsSeconds(all, method, test), pvfsSeconds(all, pvfsStock, test), pvfsSeconds(all, bareIs, test)
	faster, slower := ratio(theirs, our), ratio(our, bare)
	r := row{
		What:  fmt.Sprintf("%s%s %s, %s", pvfsRowsPrefix, perf.FormatSize(pvfsBytes), what, strings.TrimPrefix(method, "pvfs ")),
		Value: measured(our, "%.3f s"), Bare: fmt.Sprintf("%s (%s)", times(slower), measured(bare, "%.3f s")),
		Best: againstStock(all, faster, theirs, "%.3f s"), Reach: fasterThanStock(reach), Aim: fasterThanStock(aim),
	}
	switch {
	case !math.IsNaN(aim):
		r.Verdict = judgeMore(faster, reach, aim)
	case method == pvfsShm:
		r.Aim = fmt.Sprintf("≤ %.1f × bare", pvfsInBareAim)
		r.Verdict = judgeApart(-faster, -reach, slower, pvfsInBareAim)
	default:
		r.Aim, r.Verdict = r.Reach, judgeMore(faster, reach, reach)
	}
	return r
}

func fasterThanStock(mark float64) string { return fmt.Sprintf("≥ %.1f × orangefs", mark) }

// pvfsMixedRow is the row for ours with theirs. The worst result counts.
func pvfsMixedRow(all *results, what, method string) row {
	least := math.Inf(1)
	var parts, theirs []string
	add := func(name, format string, our, stock float64, more bool) {
		r := ratio(our, stock)
		if !more {
			r = ratio(stock, our)
		}
		least = math.Min(least, r) // NaN stays
		parts = append(parts, fmt.Sprintf("%s %s (%s)", name, times(r), measured(our, format)))
		theirs = append(theirs, measured(stock, format))
	}
	add("in", "%.3f s", pvfsSeconds(all, method, pvfsIn), pvfsSeconds(all, pvfsStock, pvfsIn), false)
	add("out", "%.3f s", pvfsSeconds(all, method, pvfsOut), pvfsSeconds(all, pvfsStock, pvfsOut), false)
	for _, act := range pvfsActs {
		test := namesTest(act, 1)
		add(act+"s", "%.0f/s", value(all, method, test, 0), value(all, pvfsStock, test, 0), true)
	}
	r := row{What: pvfsRowsPrefix + what, Value: isUnknown, Reach: fasterThanStock(pvfsMixedReach), Aim: fasterThanStock(pvfsMixedAim)}
	r.Verdict = judgeMore(least, pvfsMixedReach, pvfsMixedAim)
	r.Best = againstStock(all, least, pvfsSeconds(all, pvfsStock, pvfsIn), "%.3f s")
	if r.Verdict != isUnknown {
		r.Value = strings.Join(parts, ", ")
		r.Best = fmt.Sprintf("%s of orangefs at least (%s)", times(least), strings.Join(theirs, ", "))
	}
	return r
}

func pvfsNamesRow(all *results, act string, clients int, method string) row {
	our, theirs := value(all, method, namesTest(act, clients), 0), value(all, pvfsStock, namesTest(act, clients), 0)
	faster := ratio(our, theirs)
	return row{
		What:  fmt.Sprintf("%s%ss, clients: %d, %s", pvfsRowsPrefix, act, clients, strings.TrimPrefix(method, "pvfs ")),
		Value: measured(our, "%.0f/s"), Best: againstStock(all, faster, theirs, "%.0f/s"),
		Reach: fasterThanStock(pvfsNamesReach), Aim: fasterThanStock(pvfsNamesAim), Verdict: judgeMore(faster, pvfsNamesReach, pvfsNamesAim),
	}
}

func pvfsIdleRow(bytes *float64, method string) row {
	b := orNaN(bytes)
	return row{
		What:  fmt.Sprintf("%sserver with %d idle clients, %s", pvfsRowsPrefix, pvfsIdleClients, method),
		Value: measured(b/(1<<20), "%.1f MiB"), Reach: fmt.Sprintf("≤ %.0f MiB", pvfsIdleReach/(1<<20)), Aim: fmt.Sprintf("≤ %.0f MiB", pvfsIdleAim/(1<<20)),
		Verdict: judge(b, pvfsIdleReach, pvfsIdleAim),
	}
}
