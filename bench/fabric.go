package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/viaduct-hpc/viaduct/internal/perf"
)

// fabricContender runs fi_pingpong over libfabric's shared-memory provider.
func fabricContender(cfg config) contender {
	if !find("fi_pingpong") {
		return absent(libfabric, notInstalled)
	}
	return contender{name: libfabric, run: func(ctx context.Context) ([]perf.Result, error) {
		var all []perf.Result
		for _, size := range latencySizes {
			n := max(20, int(cfg.point.Seconds()/(1e-6+float64(2*size)/10e9)))
			out, err := pairOfPrograms(ctx, cfg, "fi_pingpong", func(port int) (server, client []string) {
				common := []string{"-p", "shm", "-e", "rdm", "-m", "tagged", "-I", strconv.Itoa(n), "-S", strconv.Itoa(size)}
				server = append([]string{"-B", strconv.Itoa(port)}, common...)
				return server, append(append([]string{"-P", strconv.Itoa(port)}, common...), "127.0.0.1")
			})
			if err != nil {
				return nil, err
			}
			r, err := parseFabric(out, size)
			if err != nil {
				return nil, err
			}
			all = append(all, r)
		}
		return all, nil
	}}
}

// parseFabric reads the table of fi_pingpong: bytes, #sent, #ack, total, time,
// MB/sec, usec/xfer, Mxfers/sec. A transfer is one way.
func parseFabric(out []byte, size int) (perf.Result, error) {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	fields := strings.Fields(lines[len(lines)-1])
	if len(fields) != 8 {
		return perf.Result{}, fmt.Errorf("fi_pingpong: cannot read %q", lines[len(lines)-1])
	}
	us, err := strconv.ParseFloat(fields[6], 64)
	if err != nil {
		return perf.Result{}, fmt.Errorf("fi_pingpong: cannot read %q: %w", fields[6], err)
	}
	return perf.Result{Test: perf.Latency, Method: libfabric, Size: size, Window: 1, Median: us, P99: us, Unit: perf.UnitMicros}, nil
}
