package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/perf"
	"github.com/viaduct-hpc/viaduct/internal/perf/service"
)

// counts are the measurements that are not comparisons of speed. A value that could not be measured
// is nil; Problems has the reason.
type counts struct {
	AllocsPerMessage *float64 `json:"allocs_per_message,omitempty"`
	// MatchRatio is the time of a match with a million queued entries divided by that with one, the
	// worse of both queues.
	MatchRatio *float64           `json:"match_ratio,omitempty"`
	MatchNanos map[string]float64 `json:"match_nanos,omitempty"`
	// Bytes of a hub per connected idle peer, and per peer that it knows but is not connected to.
	ConnectedBytes *float64 `json:"connected_bytes,omitempty"`
	KnownBytes     *float64 `json:"known_bytes,omitempty"`
	// Bytes of the whole machine per connection, both ends; and the shared memory that a connection
	// maps in the hub, and its resident part.
	MachineBytes  *float64 `json:"machine_bytes,omitempty"`
	SegmentBytes  *float64 `json:"segment_bytes,omitempty"`
	ResidentBytes *float64 `json:"resident_segment_bytes,omitempty"`

	// The same over TCP, without the kernel's memory for a socket.
	TCPAllocsPerMessage *float64 `json:"tcp_allocs_per_message,omitempty"`
	TCPConnectedBytes   *float64 `json:"tcp_connected_bytes,omitempty"`

	// The same over UDP, with a key, and the results of simulation.
	UDPAllocsPerMessage *float64   `json:"udp_allocs_per_message,omitempty"`
	UDPConnectedBytes   *float64   `json:"udp_connected_bytes,omitempty"`
	UDPSimulated        *simulated `json:"udp_simulated,omitempty"`

	// Bytes of the larger of our two file servers with idle clients, over TCP and over shared memory.
	PVFSServerBytes    *float64 `json:"pvfs_server_bytes,omitempty"`
	PVFSServerShmBytes *float64 `json:"pvfs_server_shm_bytes,omitempty"`
	// The cost of strangers for other clients of our file servers.
	PVFSStrangers []slowdown `json:"pvfs_strangers,omitempty"`

	Problems []string `json:"problems,omitempty"`
}

// A countPart is one of these measurements.
type countPart struct {
	what    string
	measure func() error
}

// countThings makes one measurement after the other. One that fails becomes a problem in the report
// and does not end the run.
func countThings(ctx context.Context, cfg config) counts {
	var c counts
	all := []countPart{
		{"allocations", func() error { return allocations(ctx, cfg, plain(ours), &c.AllocsPerMessage) }},
		{"allocations over TCP", func() error { return allocations(ctx, cfg, plain(oursTCP), &c.TCPAllocsPerMessage) }},
		{"allocations over UDP", func() error { return allocations(ctx, cfg, secureUDP(cfg), &c.UDPAllocsPerMessage) }},
		{"match cost", func() error { return c.match(ctx) }},
		{"idle peers", c.idle},
		{"idle connections over TCP", c.idleTCP},
		{"idle connections over UDP", func() error { return c.idleUDP(cfg) }},
		{"what is simulated", func() error { return c.simulate(goldenFolder) }},
	}
	files := []countPart{
		{"idle clients of a file server over TCP", func() error { return pvfsIdle(ctx, cfg, oursTCP, &c.PVFSServerBytes) }},
		{"idle clients of a file server over shared memory", func() error { return pvfsIdle(ctx, cfg, ours, &c.PVFSServerShmBytes) }},
	}
	others := []countPart{{"strangers at a file server", func() error { return pvfsStrangers(ctx, cfg, &c.PVFSStrangers) }}}
	var parts []countPart
	switch cfg.only {
	case "":
		parts = append(append(all, files...), others...)
	case groupPVFS:
		parts = append(files, others...)
	case groupStrangers:
		parts = others
	}
	for _, part := range parts {
		if err := part.measure(); err != nil {
			c.Problems = append(c.Problems, fmt.Sprintf("%s: %v", part.what, err))
			fmt.Fprintf(os.Stderr, "bench: %s: %v\n", part.what, err)
		}
	}
	return c
}

// allocations counts the allocations of a method into a field.
func allocations(ctx context.Context, cfg config, v variant, into **float64) error {
	return v.within(func() error { return allocationsOf(ctx, cfg, v.method, into) })
}

func allocationsOf(ctx context.Context, cfg config, method string, into **float64) error {
	server, err := perf.StartChild("server", []string{cfg.bmi, "serve", service.LocalAddress(method, "bench-allocs"), "--child"})
	if err != nil {
		return err
	}
	defer func() { _ = server.Close() }()
	address, err := server.Answer()
	if err != nil {
		return err
	}
	ep, err := bmi.Open(ctx, bmi.Config{})
	if err != nil {
		return err
	}
	defer func() { _ = ep.Close() }()
	client, err := perf.OpenClient(ep, address)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	const roundTrips = 50_000
	n, err := client.Allocs(ctx, rateSize, roundTrips)
	if err != nil {
		return err
	}
	// The runtime itself allocates now and then, a handful of times in the whole run: the rounding
	// removes less than one allocation in a hundred messages.
	n = math.Round(n*100) / 100
	*into = &n
	return nil
}

// matchLine is a line of the match benchmark.
var matchLine = regexp.MustCompile(`(?m)^BenchmarkMatch/(side=\w+/kind=exact/queued=(\d+))-\d+\s+\d+\s+([0-9.]+) ns/op`)

// match runs the benchmark of the matching engine.
func (c *counts) match(ctx context.Context) error {
	out, err := command(ctx, nil, "go", "test", "-run", "^$", "-bench", "BenchmarkMatch/side=(posted|kept)/kind=exact/queued=(1|1000000)$",
		"-benchtime", "50ms", "-count", "5", "./matchbits")
	if err != nil {
		return err
	}
	c.MatchNanos, err = parseMatch(out)
	if err != nil {
		return err
	}
	worst := 0.0
	for _, side := range []string{"posted", "kept"} {
		one, million := c.MatchNanos["side="+side+"/kind=exact/queued=1"], c.MatchNanos["side="+side+"/kind=exact/queued=1000000"]
		if one <= 0 || million <= 0 {
			return fmt.Errorf("the benchmark of the %s side printed nothing", side)
		}
		worst = max(worst, million/one)
	}
	c.MatchRatio = &worst
	return nil
}

func parseMatch(out []byte) (map[string]float64, error) {
	all := make(map[string][]float64)
	for _, m := range matchLine.FindAllSubmatch(out, -1) {
		ns, err := strconv.ParseFloat(string(m[3]), 64)
		if err != nil {
			return nil, err
		}
		all[string(m[1])] = append(all[string(m[1])], ns)
	}
	medians := make(map[string]float64, len(all))
	for name, values := range all {
		medians[name] = median(values)
	}
	return medians, nil
}

func (c *counts) idle() error {
	cost, err := measureIdle(ours, idleEach)
	if err != nil {
		return err
	}
	c.ConnectedBytes, c.KnownBytes = &cost.connected, &cost.known
	c.MachineBytes, c.SegmentBytes, c.ResidentBytes = &cost.wholeMachine, &cost.segments, &cost.residing
	return nil
}

func (c *counts) idleTCP() error {
	cost, err := measureIdle(oursTCP, idleEachTCP)
	if err != nil {
		return err
	}
	c.TCPConnectedBytes = &cost.connected
	return nil
}

func (c *counts) idleUDP(cfg config) error {
	v := secureUDP(cfg)
	return v.within(func() error {
		cost, err := measureIdle(v.method, idleEachUDP)
		if err != nil {
			return err
		}
		c.UDPConnectedBytes = &cost.connected
		return nil
	})
}

func (c *counts) simulate(folder string) error {
	s, err := readSimulated(folder)
	c.UDPSimulated = s
	return err
}
