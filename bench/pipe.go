package main

import (
	"context"
	"errors"
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
	return []contender{pipeContender(ctx, cfg), bounceContender(ctx, cfg)}
}

// compileC compiles a program of bench/peers that needs no library.
func compileC(ctx context.Context, cfg config, name string) (program string, err error) {
	compiler := "cc"
	if !find(compiler) {
		compiler = "gcc"
	}
	if !find(compiler) {
		return "", errors.New("no C compiler")
	}
	if program, err = filepath.Abs(filepath.Join(cfg.work, name)); err == nil {
		_, err = command(ctx, nil, compiler, "-O2", "-o", program, filepath.Join("bench/peers", name+".c"))
	}
	if err != nil {
		err = fmt.Errorf("does not compile: %w", err)
	}
	return program, err
}

func pipeContender(ctx context.Context, cfg config) contender {
	program, err := compileC(ctx, cfg, "pipe")
	if err != nil {
		return absent(pipes, err.Error())
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

func bounceContender(ctx context.Context, cfg config) contender {
	program, err := compileC(ctx, cfg, "bounce")
	if err != nil {
		return absent(bareC, err.Error())
	}
	return contender{name: bareC, run: func(ctx context.Context) ([]perf.Result, error) {
		out, err := command(ctx, nil, program, millis(cfg), strconv.Itoa(cfg.cores.Near), strconv.Itoa(cfg.cores.Far))
		if err != nil {
			return nil, err
		}
		return parseResults(out)
	}}
}
