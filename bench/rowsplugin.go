package main

import (
	"fmt"

	"github.com/viaduct-hpc/viaduct/internal/perf"
)

// The marks of methods in other processes, relative to the same method in this
// process.
const (
	pluginAddReach, pluginAddAim   = 1.5, 0.6   // µs that rings add to the half round trip of 8 B, at most
	pluginKeepReach, pluginKeepAim = 0.80, 0.95 // of the bytes a second of 1 MiB, at least
	pluginGRPCReach                = 20.0       // × the half round trip of rings that gRPC alone takes, at least
	pluginLargeSize                = 1 << 20
	pluginRowsPrefix               = "plugin: "
)

// pluginRows are the rows of the table of aims about plugins.
func pluginRows(all *results) []row {
	return []row{
		pluginAddRow(all),
		pluginKeepRow(all, withRegistered, "", "registered memory against plain memory without a plugin"),
		pluginKeepRow(all, withRegistered, withRegistered, "registered memory"),
		pluginKeepRow(all, "", "", "plain memory"),
		pluginGRPCRow(all),
	}
}

// pluginAddRow is for two endpoints with a plugin each, which cost twice as much as
// measured with one.
func pluginAddRow(all *results) row {
	with, without := value(all, inTurnRings, perf.Latency, rateSize), value(all, inTurn, perf.Latency, rateSize)
	added := 2 * (with - without)
	return row{
		What:  pluginRowsPrefix + "added by rings on both sides to the 8 B half round trip",
		Value: measured(added, "%.2f µs") + besideOf(with, without, "with one %.2f µs", "none %.2f µs"),
		Reach: fmt.Sprintf("≤ %.1f µs", pluginAddReach), Aim: fmt.Sprintf("≤ %.1f µs", pluginAddAim),
		Verdict: judge(added, pluginAddReach, pluginAddAim),
	}
}

// pluginKeepRow compares the bytes a second of a ping-pong, with one kind of memory
// with the plugin and one without.
func pluginKeepRow(all *results, kindWith, kindWithout, memory string) row {
	speed := func(method string) float64 {
		return pluginLargeSize / value(all, method, perf.Latency, pluginLargeSize) / 1e3 // a byte per µs is 10^6 a second
	}
	with, without := speed(inTurnRings+kindWith), speed(inTurn+kindWithout)
	return row{
		What:  fmt.Sprintf("%sbandwidth of %s half round trips kept, %s", pluginRowsPrefix, perf.FormatSize(pluginLargeSize), memory),
		Value: measured(100*ratio(with, without), "%.0f %%") + besideOf(with, without, "with %.2f GB/s", "without %.2f GB/s"),
		Reach: fmt.Sprintf("≥ %.0f %%", 100*pluginKeepReach), Aim: fmt.Sprintf("≥ %.0f %%", 100*pluginKeepAim),
		Verdict: judgeMore(ratio(with, without), pluginKeepReach, pluginKeepAim),
	}
}

func pluginGRPCRow(all *results) row {
	rings, grpc := value(all, inTurnRings, perf.Latency, rateSize), value(all, inTurnGRPC, perf.Latency, rateSize)
	return row{
		What:  pluginRowsPrefix + "8 B half round trip by gRPC alone against rings",
		Value: times(ratio(grpc, rings)) + besideOf(grpc, rings, "%.1f µs", "%.2f µs"),
		Reach: fmt.Sprintf("≥ %.0f ×", pluginGRPCReach), Aim: fmt.Sprintf("≥ %.0f ×", pluginGRPCReach),
		Verdict: judgeMore(ratio(grpc, rings), pluginGRPCReach, pluginGRPCReach),
	}
}

// besideOf shows the two compared numbers.
func besideOf(one, other float64, formatOne, formatOther string) string {
	return fmt.Sprintf(" (%s, %s)", measured(one, formatOne), measured(other, formatOther))
}
