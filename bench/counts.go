package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/perf"
)

// counts are the measurements that are no race. What could not be measured is nil;
// Problems says why.
type counts struct {
	AllocsPerMessage *float64 `json:"allocs_per_message,omitempty"`
	// MatchRatio is the time of a match among a million queued entries over
	// that with one, the worse of both queues.
	MatchRatio *float64           `json:"match_ratio,omitempty"`
	MatchNanos map[string]float64 `json:"match_nanos,omitempty"`
	// Bytes that a hub pays per connected idle peer, and per peer that it
	// knows but is not connected to.
	ConnectedBytes *float64 `json:"connected_bytes,omitempty"`
	KnownBytes     *float64 `json:"known_bytes,omitempty"`
	// Bytes of the whole machine per connection, both ends; and shared memory
	// that a connection maps in the hub, and what of it is resident there.
	MachineBytes  *float64 `json:"machine_bytes,omitempty"`
	SegmentBytes  *float64 `json:"segment_bytes,omitempty"`
	ResidentBytes *float64 `json:"resident_segment_bytes,omitempty"`

	Problems []string `json:"problems,omitempty"`
}

// countThings measures one thing after the other; one that fails is a problem in
// the report, not the end of it.
func countThings(ctx context.Context, cfg config) counts {
	var c counts
	for _, part := range []struct {
		what    string
		measure func() error
	}{
		{"allocations", func() error { return c.allocations(ctx, cfg) }},
		{"match cost", func() error { return c.match(ctx) }},
		{"idle peers", c.idle},
	} {
		if err := part.measure(); err != nil {
			c.Problems = append(c.Problems, fmt.Sprintf("%s: %v", part.what, err))
			fmt.Fprintf(os.Stderr, "bench: %s: %v\n", part.what, err)
		}
	}
	return c
}

func (c *counts) allocations(ctx context.Context, cfg config) error {
	address := fmt.Sprintf("%s://bench-allocs-%d-%x", ours, os.Getpid(), time.Now().UnixNano()&0xffffff)
	server, err := perf.StartChild("server", []string{cfg.bmi, "serve", address, "--child"})
	if err != nil {
		return err
	}
	defer func() { _ = server.Close() }()
	if _, err := server.Answer(); err != nil {
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
	// The runtime itself allocates now and then, a handful in the whole run:
	// what is rounded away here is less than one in a hundred messages.
	n = math.Round(n*100) / 100
	c.AllocsPerMessage = &n
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
	cost, err := measureIdle()
	if err != nil {
		return err
	}
	c.ConnectedBytes, c.KnownBytes = &cost.connected, &cost.known
	c.MachineBytes, c.SegmentBytes, c.ResidentBytes = &cost.wholeMachine, &cost.segments, &cost.residing
	return nil
}
