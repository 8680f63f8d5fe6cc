package main

import (
	"fmt"

	"github.com/viaduct-hpc/viaduct/internal/perf"
)

// The marks of files: how often as fast as the best of the other MPIs, as the same bytes in one range
// for each rank, and as the same blocks by each rank on its own.
const (
	filesReach, filesAim                     = 1.0, 1.5
	filesContiguousReach, filesContiguousAim = 0.8, 0.95
	filesStridedReach, filesStridedAim       = 3.0, 10.0
	filesRowsPrefix                          = "files: "
)

// fileRows are the rows of files that ranks write and read together.
func fileRows(all *results) []row {
	out := []row{filesRow(all, "write", writeAll), filesRow(all, "read", readAll)}
	for _, method := range []string{oursTCP, ours} {
		out = append(out,
			filesOnRow(all, method, "write", writeAll, writeContiguous, "contiguous writes", filesContiguousReach, filesContiguousAim),
			filesOnRow(all, method, "read", readAll, readContiguous, "contiguous reads", filesContiguousReach, filesContiguousAim),
			filesOnRow(all, method, "write", writeAll, writeStrided, "strided writes", filesStridedReach, filesStridedAim),
			filesOnRow(all, method, "read", readAll, readStrided, "strided reads", filesStridedReach, filesStridedAim),
		)
	}
	return out
}

// filesWhat is the text of an operation.
func filesWhat(what, where string) string {
	return fmt.Sprintf("%scollective %s of %s in blocks, %d ranks, %s", filesRowsPrefix, what, perf.FormatSize(filesBytes), filesRanks, where)
}

func filesRow(all *results, what string, test perf.Test) row {
	our := value(all, filesName(oursMPI), test, filesBytes)
	method, most := best(all, []string{filesName(openMPI), filesName(openMPIROMIO), filesName(mpich)}, test, filesBytes, true)
	return row{
		What: filesWhat(what, "local file system"), Value: measured(our, "%.0f MB/s"), Best: againstBest(our, method, most, "%.0f MB/s"),
		Reach: mark("≥", filesReach, "the best"), Aim: mark("≥", filesAim, "the best"), Verdict: judgeMore(ratio(our, most), filesReach, filesAim),
	}
}

// filesOnRow compares a collective operation on file servers with another way to move as many bytes,
// in the same run.
func filesOnRow(all *results, method, what string, test, other perf.Test, than string, reach, aim float64) row {
	our, theirs := value(all, filesOnName(method), test, filesBytes), value(all, filesOnName(method), other, filesBytes)
	r := row{
		What: filesWhat(what, fmt.Sprintf("pvfsd over %s, against %s", method, than)), Value: measured(our, "%.0f MB/s"),
		Reach: mark("≥", reach, than), Aim: mark("≥", aim, than), Verdict: judgeMore(ratio(our, theirs), reach, aim),
	}
	if r.Verdict != isUnknown {
		r.Best = againstBest(our, than, theirs, "%.0f MB/s")
	}
	return r
}
