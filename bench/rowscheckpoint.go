package main

import (
	"fmt"

	"github.com/viaduct-hpc/viaduct/internal/perf"
)

// The marks of checkpoints: how fast they are relative to pvfs cp of as many bytes.
const (
	checkpointReach      = 0.8
	checkpointAim        = 1.0
	checkpointRowsPrefix = "checkpoint: "
)

// checkpointRows are the rows about checkpoints on our file system.
func checkpointRows(all *results) (out []row) {
	for _, method := range []string{oursTCP, ours} {
		out = append(out,
			checkpointRow(all, method, "saved", checkpointSave, checkpointIn),
			checkpointRow(all, method, "restored", checkpointRestore, checkpointOut))
	}
	return out
}

func checkpointRow(all *results, method, what string, test, copied perf.Test) row {
	name := checkpointName(method)
	our, cp := pvfsSeconds(all, name, test), pvfsSeconds(all, name, copied)
	faster := ratio(cp, our)
	return row{
		What:  fmt.Sprintf("%s%s of %d ranks %s, %s", checkpointRowsPrefix, perf.FormatSize(pvfsBytes), checkpointRanks, what, method),
		Value: measured(our, "%.3f s"), Best: fmt.Sprintf("%s as fast as pvfs cp (%s)", times(faster), measured(cp, "%.3f s")),
		Reach: mark("≥", checkpointReach, "pvfs cp"), Aim: mark("≥", checkpointAim, "pvfs cp"), Verdict: judgeMore(faster, checkpointReach, checkpointAim),
	}
}
