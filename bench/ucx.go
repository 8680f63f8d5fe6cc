package main

import (
	"context"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"

	"github.com/viaduct-hpc/viaduct/internal/perf"
)

// ucxTCPEnv restricts UCX to TCP over loopback.
var ucxTCPEnv = []string{"UCX_TLS=tcp,self", "UCX_NET_DEVICES=lo", "UCX_WARN_UNUSED_ENV_VARS=n"}

// ucxSettings are the ways to run ucx_perftest. The first restricts it to shared
// memory and a single copy by the kernel.
var ucxSettings = map[string]pairSettings{
	ucx:    {env: []string{"UCX_TLS=posix,cma,sysv,self", "UCX_WARN_UNUSED_ENV_VARS=n"}, step: 0.6e-6, bytesPerSecond: 5e9},
	ucxTCP: {env: ucxTCPEnv, step: 8e-6, bytesPerSecond: 2.5e9},
}

// ucxContender runs ucx_perftest, once per point, which is the only way that works.
// Active messages are measured for 8 bytes only; the better of the two counts.
func ucxContender(cfg config, name string) contender {
	if !find("ucx_perftest") {
		return absent(name, notInstalled)
	}
	point := func(ctx context.Context, test perf.Test, what string, size int) (perf.Result, error) {
		return ucxPoint(ctx, cfg, ucxSettings[name], test, what, size)
	}
	return contender{name: name, run: func(ctx context.Context) ([]perf.Result, error) {
		var all []perf.Result
		for _, size := range cfg.sizes.latencies {
			r, err := point(ctx, perf.Latency, "tag_lat", size)
			if err != nil {
				return nil, err
			}
			if size == rateSize {
				am, err := point(ctx, perf.Latency, "ucp_am_lat", size)
				if err != nil {
					return nil, err
				}
				r.Median, r.P99 = min(r.Median, am.Median), min(r.P99, am.P99)
			}
			all = append(all, r)
		}
		r, err := point(ctx, perf.Rate, "tag_bw", rateSize)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
		for _, size := range cfg.sizes.bandwidths {
			r, err := point(ctx, perf.Bandwidth, "tag_bw", size)
			if err != nil {
				return nil, err
			}
			all = append(all, r)
		}
		return all, nil
	}}
}

// ucxPoint runs a server and a client for one point.
func ucxPoint(ctx context.Context, cfg config, set pairSettings, test perf.Test, name string, size int) (perf.Result, error) {
	n := set.iterations(cfg.point, size)
	common := []string{"-t", name, "-s", strconv.Itoa(size), "-n", strconv.Itoa(n), "-w", strconv.Itoa(max(10, n/5))}
	out, err := pairOfPrograms(ctx, cfg, set.env, "ucx_perftest", func(port int) (server, client []string) {
		at := []string{"-p", strconv.Itoa(port)}
		return at, append(append([]string{"127.0.0.1"}, at...), append(common, "-f", "-v")...)
	})
	if err != nil {
		return perf.Result{}, err
	}
	return parseUCX(out, test, size)
}

// parseUCX reads the last line of CSV: iterations, then half round trip or time
// per message in microseconds (median, average, overall), then MB/s (of 2^20
// bytes) and messages a second (average, overall each).
func parseUCX(out []byte, test perf.Test, size int) (perf.Result, error) {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	fields, err := csv.NewReader(strings.NewReader(lines[len(lines)-1])).Read()
	if err != nil || len(fields) != 8 {
		return perf.Result{}, fmt.Errorf("ucx_perftest: cannot read %q", lines[len(lines)-1])
	}
	var v [8]float64
	for i, f := range fields {
		if v[i], err = strconv.ParseFloat(strings.TrimSpace(f), 64); err != nil {
			return perf.Result{}, fmt.Errorf("ucx_perftest: cannot read %q: %w", f, err)
		}
	}
	r := perf.Result{Test: test, Method: "ucx_perftest", Size: size, Window: 1}
	switch test {
	case perf.Latency:
		// Its median is of single iterations, its average of all: the better one
		// counts.
		r.Unit, r.Median, r.P99 = perf.UnitMicros, min(v[1], v[3]), v[3]
	case perf.Rate:
		r.Unit, r.Median, r.P99 = perf.UnitMessages, v[7], v[7]
	default:
		r.Unit, r.Median = perf.UnitMB, v[7]*float64(size)/1e6
		r.P99 = r.Median
	}
	return r, nil
}
