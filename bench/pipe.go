package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/viaduct-hpc/viaduct/internal/perf"
)

// crowdSize is how many processes exchange messages on the two cores.
const crowdSize = 8

// The shapes of a crowd: which processes exchange messages.
const (
	shapePairs = "pairs"
	shapeRing  = "ring"
	shapeAll   = "all"
)

var shapes = []string{shapePairs, shapeRing, shapeAll}

// crowdTest is the test of a shape, in results.
func crowdTest(shape string) perf.Test { return perf.Test("crowd-" + shape) }

// cContenders are the programs in plain C: processes with pipes, and the bounce
// that verifies ours.
func cContenders(ctx context.Context, cfg config) []contender {
	compiler := "cc"
	if !find(compiler) {
		compiler = "gcc"
	}
	if !find(compiler) {
		return []contender{absent(pipes, "no C compiler"), absent(bareC, "no C compiler")}
	}
	build := func(name string) (string, error) {
		program, err := filepath.Abs(filepath.Join(cfg.work, name))
		if err == nil {
			_, err = command(ctx, nil, compiler, "-O2", "-o", program, filepath.Join("bench/peers", name+".c"))
		}
		return program, err
	}
	return []contender{pipeContender(cfg, build), bounceContender(cfg, build)}
}

func pipeContender(cfg config, build func(string) (string, error)) contender {
	program, err := build("pipe")
	if err != nil {
		return absent(pipes, fmt.Sprintf("does not compile: %v", err))
	}
	cores := []string{strconv.Itoa(cfg.cores.Near), strconv.Itoa(cfg.cores.Far)}
	return contender{name: pipes, run: func(ctx context.Context) ([]perf.Result, error) {
		runs := [][]string{append([]string{shapePairs, "2", millis(cfg)}, cores...)}
		for _, shape := range shapes {
			runs = append(runs, []string{shape, strconv.Itoa(crowdSize), millis(cfg)})
		}
		var all []perf.Result
		for _, args := range runs {
			line := onCores(cfg, append([]string{program}, args...)...)
			out, err := command(ctx, nil, line[0], line[1:]...)
			if err != nil {
				return nil, err
			}
			got, err := parseResults(out)
			if err != nil {
				return nil, err
			}
			all = append(all, got...)
		}
		all[0].Test = perf.Latency // between two processes; the others are crowds
		return all, nil
	}}
}

func bounceContender(cfg config, build func(string) (string, error)) contender {
	program, err := build("bounce")
	if err != nil {
		return absent(bareC, fmt.Sprintf("does not compile: %v", err))
	}
	return contender{name: bareC, run: func(ctx context.Context) ([]perf.Result, error) {
		out, err := command(ctx, nil, program, millis(cfg), strconv.Itoa(cfg.cores.Near), strconv.Itoa(cfg.cores.Far))
		if err != nil {
			return nil, err
		}
		return parseResults(out)
	}}
}
