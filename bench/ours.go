package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/viaduct-hpc/viaduct/internal/perf"
)

// perfCommand runs `bmi perf` with some of its options.
func perfCommand(ctx context.Context, cfg config, args ...string) ([]perf.Result, error) {
	all := append([]string{"perf", ours, "-json", "-time", cfg.point.String(), "-pin", cfg.cores.String(), "-window", strconv.Itoa(rateWindow)}, args...)
	out, err := command(ctx, nil, cfg.bmi, all...)
	if err != nil {
		return nil, err
	}
	return parseResults(out)
}

func sizeList(sizes []int) string {
	words := make([]string, len(sizes))
	for i, n := range sizes {
		words[i] = strconv.Itoa(n)
	}
	return strings.Join(words, ",")
}

// perfCommands runs several and puts their results together under a name.
func perfCommands(ctx context.Context, cfg config, name string, runs ...[]string) ([]perf.Result, error) {
	var all []perf.Result
	for _, args := range runs {
		got, err := perfCommand(ctx, cfg, args...)
		if err != nil {
			return nil, err
		}
		all = append(all, got...)
	}
	for i := range all {
		all[i].Method = name
	}
	return all, nil
}

func limitsContender(cfg config) contender {
	return contender{name: bare, run: func(ctx context.Context) ([]perf.Result, error) {
		return perfCommands(ctx, cfg, bare, []string{"-test", "limit", "-size", sizeList(latencySizes)})
	}}
}

func oursContender(cfg config) contender {
	return contender{name: ours, run: func(ctx context.Context) ([]perf.Result, error) {
		return perfCommands(ctx, cfg, ours,
			[]string{"-test", "latency", "-size", sizeList(latencySizes)},
			[]string{"-test", "rate", "-size", fmt.Sprint(rateSize)},
			[]string{"-test", "bandwidth,bidirectional", "-size", sizeList(bandwidthSizes)})
	}}
}

// registeredContender is ours with memory of the method's own.
func registeredContender(cfg config) contender {
	return contender{name: registered, run: func(ctx context.Context) ([]perf.Result, error) {
		return perfCommands(ctx, cfg, registered, []string{"-memory", "registered", "-test", "latency", "-size", sizeList(latencySizes)})
	}}
}
