package main

import (
	"fmt"
	"math"
)

// The marks of a job with many ranks.
const (
	startReach       = 20.0 // seconds
	startAim         = 5.0
	startSomeReach   = 1.0 // how often as fast as the best of the others
	startRowsPrefix  = "start: "
	startMemoryReach = 24 << 30 / startMany
	startMemoryAim   = 8 << 20
)

// startRows are the rows of jobs with many ranks on two processors.
func startRows(all *results) []row {
	const what = startRowsPrefix + "%d ranks of hello on 2 processors, from start to end"
	many := value(all, startName(oursMPI), startTime, startMany)
	some := value(all, startName(oursMPI), startTime, startSome)
	memory := value(all, startName(oursMPI), startMemory, startMany)
	rows := []row{{
		What: fmt.Sprintf(what, startMany), Value: measured(many, "%.1f s"),
		Reach: "≤ 20 s", Aim: "≤ 5 s", Verdict: judge(many, startReach, startAim),
	}, {
		What: startRowsPrefix + fmt.Sprintf("memory of each of %d ranks (PSS)", startMany), Value: measured(memory/(1<<20), "%.1f MiB"),
		Reach: "≤ 24 GiB together", Aim: "≤ 8 MiB", Verdict: judge(memory, startMemoryReach, startMemoryAim),
	}}
	r := row{
		What: fmt.Sprintf(what, startSome), Value: measured(some, "%.2f s"), Best: notInstalled,
		Reach: fasterThan("both", startSomeReach), Aim: fasterThan("both", startSomeReach), Verdict: isUnknown,
	}
	method, least := best(all, []string{startName(openMPI), startName(mpich)}, startTime, startSome, false)
	if method != "" && !math.IsNaN(some) {
		r.Best = ""
		for _, name := range []string{openMPI, mpich} {
			theirs := value(all, startName(name), startTime, startSome)
			if math.IsNaN(theirs) {
				continue
			}
			if r.Best != "" {
				r.Best += "; "
			}
			r.Best += fmt.Sprintf("%s as fast as %s (%.2f s)", times(ratio(theirs, some)), name, theirs)
		}
		r.Verdict = judgeMore(ratio(least, some), startSomeReach, startSomeReach)
	}
	return append(rows, r)
}
