package main

import (
	"context"
	"strconv"
	"strings"

	"github.com/viaduct-hpc/viaduct/internal/perf"
)

// A variant is one of our methods in one configuration.
type variant struct {
	name   string // of the contender
	method string
	env    []string // environment of its processes
	rates  []int    // sizes of the messages whose rate is measured
}

// plain is a method without further settings.
func plain(method string) variant {
	return variant{name: method, method: method, rates: []int{rateSize}}
}

// perfCommand runs `bmi perf` of a method with some of its options.
func perfCommand(ctx context.Context, cfg config, v variant, args ...string) ([]perf.Result, error) {
	all := append([]string{"perf", v.method, "--json", "--time", cfg.point.String(), "--pin", cfg.cores.String(), "--window", strconv.Itoa(rateWindow)}, args...)
	out, err := command(ctx, v.env, cfg.bmi, all...)
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

// perfCommands runs several commands for a method and combines their results.
func perfCommands(ctx context.Context, cfg config, v variant, runs ...[]string) ([]perf.Result, error) {
	var all []perf.Result
	for _, args := range runs {
		got, err := perfCommand(ctx, cfg, v, args...)
		if err != nil {
			return nil, err
		}
		all = append(all, got...)
	}
	return all, nil
}

func limitsContender(cfg config) contender {
	return contender{name: bare, run: func(ctx context.Context) ([]perf.Result, error) {
		return perfCommand(ctx, cfg, plain(ours), "--tests", "limit", "--sizes", sizeList(latencySizes))
	}}
}

// socketContender is the limit for TCP.
func socketContender(cfg config) contender {
	return contender{name: bareSocket, run: func(ctx context.Context) ([]perf.Result, error) {
		return perfCommand(ctx, cfg, plain(oursTCP), "--tests", "limit", "--sizes", sizeList(latencySizes))
	}}
}

// oursContender measures one of our methods.
func oursContender(cfg config, v variant) contender {
	return contender{name: v.name, run: func(ctx context.Context) ([]perf.Result, error) {
		runs := [][]string{
			{"--tests", "latency", "--sizes", sizeList(cfg.sizes.latencies)},
			{"--tests", "rate", "--sizes", sizeList(v.rates)},
		}
		if len(cfg.sizes.bandwidths) > 0 {
			runs = append(runs, []string{"--tests", "bandwidth,bidirectional", "--sizes", sizeList(cfg.sizes.bandwidths)})
		}
		return perfCommands(ctx, cfg, v, runs...)
	}}
}

// registeredContender is ours with memory allocated by the method.
func registeredContender(cfg config) contender {
	return contender{name: registered, run: func(ctx context.Context) ([]perf.Result, error) {
		return perfCommand(ctx, cfg, plain(ours), "--memory", "registered", "--tests", "latency", "--sizes", sizeList(latencySizes))
	}}
}
