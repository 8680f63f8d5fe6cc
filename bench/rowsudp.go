package main

import (
	"fmt"
	"math"

	"github.com/viaduct-hpc/viaduct/internal/perf"
)

// The marks for UDP. "rxd" is libfabric's reliable datagrams over UDP, "rxm" its
// connections over TCP.
const (
	udpLatencyReach, udpLatencyAim = 1.45, 1.3 // × the half round trip of a bare socket, at most
	udpPacketReach, udpPacketAim   = 1.7, 1.4  // the same for udpPacketSize
	udpPacketSize                  = 8 << 10
	udpSecureReach, udpSecureAim   = 1.8, 1.4 // the same for 8 B, encrypted
	udpSecureMicros                = 1.0      // what encryption may add, in µs
	udpRateReach                   = 2.0      // × rxd's, at least
	udpSmallSize                   = 64
	udpSmallReach, udpSmallAim     = 1.6e6, 2.5e6 // messages a second, at least
	udpLargeReach                  = 4.0          // × rxd's bytes a second, at least
	udpLargeSize                   = 1 << 20
	udpGoodput1Reach               = 0.80 // of the rate without loss, at least
	udpGoodput1Aim                 = 0.95
	udpGoodput5Reach               = 0.50
	udpGoodput5Aim                 = 0.80
	udpFairReach, udpFairAim       = 0.95, 0.99 // Jain's index, at least
	udpIdleReach, udpIdleAim       = 256 << 10, 64 << 10
	udpRowsPrefix                  = "udp: "
)

// rxds are the contenders over rxd. The better one counts.
var rxds = []string{libfabricUDP, openMPIUDP}

// othersUDP are all contenders with which ours over UDP are compared.
var othersUDP = append(append([]string{}, rxds...), besideUDP...)

// udpRows are the rows of the table of aims for UDP on loopback.
func udpRows(all *results, c counts) []row {
	out := []row{
		udpLatencyRow(all, rateSize, udpLatencyReach, udpLatencyAim), udpSecureRow(all), udpRateRow(all), udpLargeRow(all),
		udpLatencyRow(all, udpPacketSize, udpPacketReach, udpPacketAim), udpSmallRow(all),
	}
	return append(append(out, simulatedRows(c.UDPSimulated)...), udpCountRows(c)...)
}

func udpLatencyRow(all *results, size int, reach, aim float64) row {
	our, limit := value(all, oursUDP, perf.Latency, size), value(all, bareUDP, perf.LimitUDP, size)
	method, least := best(all, othersUDP, perf.Latency, size, false)
	return row{
		What: udpRowsPrefix + perf.FormatSize(size) + " half round trip, insecure", Value: measured(our, "%.2f µs"),
		Bare:  againstSocket(our, limit, "%.2f µs"),
		Best:  againstBest(our, method, least, "%.2f µs"),
		Reach: fmt.Sprintf("≤ %g × bare UDP", reach), Aim: fmt.Sprintf("≤ %g × bare UDP", aim),
		Verdict: judge(ratio(our, limit), reach, aim),
	}
}

func udpSecureRow(all *results) row {
	our, limit := value(all, oursUDPSecure, perf.Latency, rateSize), value(all, bareUDP, perf.LimitUDP, rateSize)
	method, least := best(all, othersUDP, perf.Latency, rateSize, false)
	return row{
		What: udpRowsPrefix + "8 B half round trip, encrypted", Value: measured(our, "%.2f µs"),
		Bare:    againstSocket(our, limit, "%.2f µs"),
		Best:    againstBest(our, method, least, "%.2f µs"),
		Reach:   fmt.Sprintf("≤ %.1f × bare UDP + %.0f µs", udpSecureReach, udpSecureMicros),
		Aim:     fmt.Sprintf("≤ %.1f × bare UDP", udpSecureAim),
		Verdict: judgeApart(ratio(our, udpSecureReach*limit+udpSecureMicros), 1, ratio(our, limit), udpSecureAim),
	}
}

func udpRateRow(all *results) row {
	our, secure := value(all, oursUDP, perf.Rate, rateSize), value(all, oursUDPSecure, perf.Rate, rateSize)
	theirs, aim := value(all, openMPIUDP, perf.Rate, rateSize), value(all, ucxTCP, perf.Rate, rateSize)
	method, most := best(all, othersUDP, perf.Rate, rateSize, true)
	return row{
		What:  fmt.Sprintf("%s8 B message rate, window %d", udpRowsPrefix, rateWindow),
		Value: measured(our/1e6, "%.2f million/s") + encrypted(secure/1e6, "%.2f million/s"),
		Best:  againstBest(our/1e6, method, most/1e6, "%.2f million/s") + besides(our, method, openMPIUDP, theirs),
		Reach: fmt.Sprintf("≥ %.0f × rxd", udpRateReach), Aim: "≥ UCX over TCP",
		Verdict: judgeApart(ratio(theirs, our), 1/udpRateReach, ratio(aim, our), 1),
	}
}

func udpSmallRow(all *results) row {
	our, secure := value(all, oursUDP, perf.Rate, udpSmallSize), value(all, oursUDPSecure, perf.Rate, udpSmallSize)
	return row{
		What:    fmt.Sprintf("%s%s message rate, window %d", udpRowsPrefix, perf.FormatSize(udpSmallSize), rateWindow),
		Value:   measured(our/1e6, "%.2f million/s") + encrypted(secure/1e6, "%.2f million/s"),
		Reach:   fmt.Sprintf("≥ %.1f million/s", udpSmallReach/1e6),
		Aim:     fmt.Sprintf("≥ %.1f million/s", udpSmallAim/1e6),
		Verdict: judgeMore(our, udpSmallReach, udpSmallAim),
	}
}

// udpLargeRow compares, as tcpLargeRow does, the bytes a second of a ping-pong.
func udpLargeRow(all *results) row {
	speed := func(method string, test perf.Test) float64 {
		return udpLargeSize / value(all, method, test, udpLargeSize) / 1e3 // a byte per µs is 10^6 a second
	}
	our, limit := speed(oursUDP, perf.Latency), speed(bareUDP, perf.LimitUDP)
	rxdName, _ := best(all, rxds, perf.Latency, udpLargeSize, false)
	theirs, rxm := speed(rxdName, perf.Latency), speed(libfabricTCP, perf.Latency)
	method, _ := best(all, othersUDP, perf.Latency, udpLargeSize, false)
	return row{
		What:  udpRowsPrefix + perf.FormatSize(udpLargeSize) + " half round trip, as bandwidth",
		Value: measured(our, "%.2f GB/s") + encrypted(speed(oursUDPSecure, perf.Latency), "%.2f GB/s"),
		Bare:  againstSocket(our, limit, "%.2f GB/s"),
		Best:  againstBest(our, method, speed(method, perf.Latency), "%.2f GB/s") + besides(our, method, rxdName, theirs),
		Reach: fmt.Sprintf("≥ %.0f × rxd", udpLargeReach), Aim: "≥ rxm",
		Verdict: judgeApart(ratio(theirs, our), 1/udpLargeReach, ratio(rxm, our), 1),
	}
}

// encrypted adds the number of the variant with a key, which has no mark.
func encrypted(v float64, format string) string {
	if math.IsNaN(v) {
		return ""
	}
	return fmt.Sprintf("; encrypted "+format, v)
}

// simulatedRows are not measurements: they come from the golden tables of the
// transport's tests.
func simulatedRows(s *simulated) []row {
	nan := math.NaN()
	if s == nil {
		s = &simulated{Goodput1: nan, Goodput5: nan, Fairness: nan, FairnessWorst: nan}
	}
	share := func(loss string, v, reach, aim float64) row {
		return row{
			What:  udpRowsPrefix + "simulated: goodput at " + loss + " loss against none, path of 100 µs",
			Value: measured(v*100, "%.1f %%"), Reach: fmt.Sprintf("≥ %.0f %%", reach*100), Aim: fmt.Sprintf("≥ %.0f %%", aim*100),
			Verdict: judgeMore(v, reach, aim),
		}
	}
	jain := func(what string, v float64) row {
		return row{
			What: udpRowsPrefix + what, Value: measured(v, "%.4f"),
			Reach: fmt.Sprintf("≥ %.2f", udpFairReach), Aim: fmt.Sprintf("≥ %.2f", udpFairAim), Verdict: judgeMore(v, udpFairReach, udpFairAim),
		}
	}
	return []row{
		share("1 %", s.Goodput1, udpGoodput1Reach, udpGoodput1Aim),
		share("5 %", s.Goodput5, udpGoodput5Reach, udpGoodput5Aim),
		jain("simulated: Jain's index of four senders into one receiver", s.Fairness),
		jain(fmt.Sprintf("simulated: the same, worst of %d cases (starts, queues, losses)", s.FairnessCases), s.FairnessWorst),
	}
}

func udpCountRows(c counts) []row {
	allocs, idle := orNaN(c.UDPAllocsPerMessage), orNaN(c.UDPConnectedBytes)
	return []row{
		{
			What: udpRowsPrefix + "memory per connected idle peer, encrypted", Value: measured(idle/1024, "%.1f KiB"),
			Reach: "≤ 256 KiB", Aim: "≤ 64 KiB", Verdict: judge(idle, udpIdleReach, udpIdleAim),
		},
		{
			What: udpRowsPrefix + "allocations per 8 B message, encrypted, post to completion", Value: measured(allocs, "%.2f"),
			Reach: "0", Aim: "0", Verdict: judge(allocs, 0, 0),
		},
	}
}
