package main

import (
	"fmt"
	"path/filepath"

	"github.com/viaduct-hpc/viaduct/internal/perf"
)

// The file system of this build can be compared with that of an earlier one, in the folder -before. Files are copied by each
// build's own client. Names are made by this program's client in both cases, so their rows compare the servers.
const (
	groupBuilds      = "pvfs-builds"
	buildsRowsPrefix = "pvfs, two builds: "
	// beforeSuffix is appended to the name of a contender of the earlier build.
	beforeSuffix = ", before"

	buildsReach = 0.95 // of the earlier build's speed
	buildsAim   = 1.0
)

// buildContenders are those of both builds.
func buildContenders(cfg config) []contender {
	var all []contender
	for _, c := range []struct{ name, method string }{{pvfsTCP, oursTCP}, {pvfsShm, ours}} {
		before := cfg
		before.pvfs, before.pvfsd = filepath.Join(cfg.before, "pvfs"), filepath.Join(cfg.before, "pvfsd")
		all = append(all,
			pvfsContender(cfg, c.name, startOurs, ourClient(cfg, c.method)),
			pvfsContender(before, c.name+beforeSuffix, startOurs, ourClient(before, c.method)),
		)
	}
	return all
}

// buildRows compares the builds, test by test.
func buildRows(all *results) (out []row) {
	for _, method := range []string{pvfsTCP, pvfsShm} {
		for _, test := range []perf.Test{pvfsIn, pvfsOut} {
			now, before := pvfsSeconds(all, method, test), pvfsSeconds(all, method+beforeSuffix, test)
			out = append(out, buildRow(string(test), method, ratio(before, now), measured(now, "%.3f s"), measured(before, "%.3f s")))
		}
		for _, clients := range []int{1, pvfsCrowd} {
			for _, act := range pvfsActs {
				test := namesTest(act, clients)
				now, before := value(all, method, test, 0), value(all, method+beforeSuffix, test, 0)
				out = append(out, buildRow(string(test), method, ratio(now, before), measured(now, "%.0f/s"), measured(before, "%.0f/s")))
			}
		}
	}
	return out
}

func buildRow(test, method string, faster float64, now, before string) row {
	return row{
		What: fmt.Sprintf("%s%s, %s", buildsRowsPrefix, test, method), Value: now, Best: fmt.Sprintf("%s of the earlier build (%s)", times(faster), before),
		Reach: fmt.Sprintf("≥ %.2f × before", buildsReach), Aim: fmt.Sprintf("≥ %.2f × before", buildsAim),
		Verdict: judgeMore(faster, buildsReach, buildsAim),
	}
}
