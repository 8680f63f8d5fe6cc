package main

import (
	"fmt"
	"math"

	"github.com/viaduct-hpc/viaduct/internal/perf"
)

// The marks for TCP: the mark to reach is another library's number. For large messages
// the aim is close to a bare socket.
const (
	tcpLatencyAim = 0.95 // × the half round trip of UCX, at most
	tcpLargeAim   = 0.9  // × the bytes a second of a bare socket, at least
	tcpLargeSize  = 1 << 20
	tcpIdleBytes  = 8 << 10 // per connection
	tcpRowsPrefix = "tcp: "
)

// judgeApart judges by two ratios for which less is better: one relative to the
// mark to reach, the other to the aim. Meeting only the aim is not enough.
func judgeApart(toReach, reach, toAim, aim float64) string {
	verdict := judge(toReach, reach, reach)
	if verdict == isAim && judge(toAim, aim, aim) != isAim {
		return isReach
	}
	return verdict
}

// tcpRows are the rows of the table of aims for TCP on loopback.
func tcpRows(all *results, c counts) []row {
	return append([]row{tcpLatencyRow(all), tcpLargeRow(all), tcpRateRow(all)}, tcpCountRows(c)...)
}

func tcpLatencyRow(all *results) row {
	our, limit := value(all, oursTCP, perf.Latency, rateSize), value(all, bareSocket, perf.LimitSocket, rateSize)
	theirs := value(all, ucxTCP, perf.Latency, rateSize)
	method, least := best(all, othersTCP, perf.Latency, rateSize, false)
	return row{
		What: tcpRowsPrefix + "8 B half round trip", Value: measured(our, "%.2f µs"),
		Bare:  againstSocket(our, limit, "%.2f µs"),
		Best:  againstBest(our, method, least, "%.2f µs") + besides(our, method, ucxTCP, theirs),
		Reach: mark("≤", 1, label(ucxTCP)), Aim: mark("≤", tcpLatencyAim, label(ucxTCP)),
		Verdict: judge(ratio(our, theirs), 1, tcpLatencyAim),
	}
}

// tcpLargeRow compares the bytes a second of a ping-pong: one message in each
// half round trip.
func tcpLargeRow(all *results) row {
	speed := func(method string, test perf.Test) float64 {
		return tcpLargeSize / value(all, method, test, tcpLargeSize) / 1e3 // a byte per µs is 10^6 a second
	}
	our, limit, theirs := speed(oursTCP, perf.Latency), speed(bareSocket, perf.LimitSocket), speed(libfabricTCP, perf.Latency)
	method, _ := best(all, othersTCP, perf.Latency, tcpLargeSize, false)
	return row{
		What: tcpRowsPrefix + perf.FormatSize(tcpLargeSize) + " half round trip, as bandwidth", Value: measured(our, "%.2f GB/s"),
		Bare:  againstSocket(our, limit, "%.2f GB/s"),
		Best:  againstBest(our, method, speed(method, perf.Latency), "%.2f GB/s") + besides(our, method, libfabricTCP, theirs),
		Reach: "≥ libfabric over TCP", Aim: fmt.Sprintf("≥ %.1f × bare socket", tcpLargeAim),
		Verdict: judgeApart(ratio(theirs, our), 1, ratio(limit, our), 1/tcpLargeAim),
	}
}

func tcpRateRow(all *results) row {
	our, theirs := value(all, oursTCP, perf.Rate, rateSize), value(all, ucxTCP, perf.Rate, rateSize)
	method, most := best(all, othersTCP, perf.Rate, rateSize, true)
	return row{
		What: fmt.Sprintf("%s8 B message rate, window %d", tcpRowsPrefix, rateWindow), Value: measured(our/1e6, "%.2f million/s"),
		Best:  againstBest(our/1e6, method, most/1e6, "%.2f million/s") + besides(our, method, ucxTCP, theirs),
		Reach: "≥ UCX over TCP", Aim: "≥ UCX over TCP", Verdict: judgeMore(ratio(our, theirs), 1, 1),
	}
}

func tcpCountRows(c counts) []row {
	allocs, idle := orNaN(c.TCPAllocsPerMessage), orNaN(c.TCPConnectedBytes)
	return []row{
		{
			What: tcpRowsPrefix + "allocations per 8 B message, post to completion", Value: measured(allocs, "%.2f"),
			Reach: "0", Aim: "0", Verdict: judge(allocs, 0, 0),
		},
		{
			What: tcpRowsPrefix + "memory per idle connection, ours", Value: measured(idle/1024, "%.1f KiB"),
			Reach: "≤ 8 KiB", Aim: "≤ 8 KiB", Verdict: judge(idle, tcpIdleBytes, tcpIdleBytes),
		},
	}
}

// againstSocket compares with the bare socket. The socket's value is in brackets.
func againstSocket(our, limit float64, format string) string {
	if math.IsNaN(limit) {
		return ""
	}
	return fmt.Sprintf("%s (%s)", times(ratio(our, limit)), measured(limit, format))
}
