package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/perf"
)

// rxd is libfabric's provider of reliable datagrams over UDP.
const rxd = "udp;ofi_rxd"

// rxdEnv restricts it to loopback.
var rxdEnv = []string{"FI_UDP_IFACE=lo"}

// fewSizes are the sizes for programs that take long for each.
var fewSizes = []int{rateSize, 1 << 10, 64 << 10, tcpLargeSize}

// fabricSettings are the ways to run fi_pingpong, each with its provider.
var fabricSettings = map[string]struct {
	provider string
	sizes    []int
	pairSettings
}{
	libfabric: {"shm", latencySizes, pairSettings{step: 1e-6, bytesPerSecond: 5e9}},
	// The first message includes the connect, which takes up to 50 ms, and counts
	// in the average like any other. So a few sizes for a long time give better
	// numbers than many for a short time.
	libfabricTCP: {
		"tcp;ofi_rxm", fewSizes,
		pairSettings{env: []string{"FI_TCP_IFACE=lo"}, step: 12e-6, bytesPerSecond: 2.5e9, atLeast: 2 * time.Second},
	},
	// Its average includes the first messages and lost ones.
	libfabricUDP: {
		rxd, fewSizes,
		pairSettings{env: rxdEnv, step: 14e-6, bytesPerSecond: 2.5e8, atLeast: 300 * time.Millisecond},
	},
}

// fabricContender runs fi_pingpong over a provider of libfabric.
func fabricContender(cfg config, name string) contender {
	if !find("fi_pingpong") {
		return absent(name, notInstalled)
	}
	set := fabricSettings[name]
	return contender{name: name, run: func(ctx context.Context) ([]perf.Result, error) {
		var all []perf.Result
		for _, size := range set.sizes {
			if !slices.Contains(cfg.sizes.latencies, size) {
				continue
			}
			n := set.iterations(cfg.point, size)
			out, err := pairOfPrograms(ctx, cfg, set.env, "fi_pingpong", func(port int) (server, client []string) {
				common := []string{"-p", set.provider, "-e", "rdm", "-m", "tagged", "-I", strconv.Itoa(n), "-S", strconv.Itoa(size)}
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
	return perf.Result{Test: perf.Latency, Method: "fi_pingpong", Size: size, Window: 1, Median: us, P99: us, Unit: perf.UnitMicros}, nil
}
