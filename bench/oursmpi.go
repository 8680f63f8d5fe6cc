package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/viaduct-hpc/viaduct/internal/perf"
)

// Tests of package mpi and of other MPIs that package perf does not have.
const (
	barrier    perf.Test = "barrier"
	allreduce  perf.Test = "allreduce"
	sampleSort perf.Test = "sample-sort"
)

// allreduceSize is the size of the summed data, in bytes: a float64.
const allreduceSize = 8

// oursMPIContender measures package mpi over via+shm, as mpiContender does others.
func oursMPIContender(cfg config) contender {
	return contender{name: oursMPI, run: func(ctx context.Context) ([]perf.Result, error) {
		runs := [][]string{
			{"--sizes", sizeList(cfg.sizes.latencies), string(perf.Latency)},
			{"--sizes", strconv.Itoa(rateSize), string(perf.Rate)},
			{string(barrier)},
			{"--sizes", strconv.Itoa(allreduceSize), string(allreduce)},
		}
		if len(cfg.sizes.bandwidths) > 0 {
			runs = append(runs, []string{"--sizes", sizeList(cfg.sizes.bandwidths), string(perf.Bandwidth), string(perf.Bidirectional)})
		}
		var all []perf.Result
		for _, args := range runs {
			got, err := mpibench(ctx, cfg, args...)
			if err != nil {
				return nil, err
			}
			all = append(all, got...)
		}
		return all, nil
	}}
}

// mpibench runs `mpibench` on two ranks, one on each of the cores.
func mpibench(ctx context.Context, cfg config, args ...string) ([]perf.Result, error) {
	return mpibenchOn(ctx, cfg, 2, cfg.cores.String(), args...)
}

// mpibenchOn runs `mpibench` on some ranks, bound to cores as its option --pin says.
func mpibenchOn(ctx context.Context, cfg config, ranks int, pin string, args ...string) ([]perf.Result, error) {
	return mpibenchOver(ctx, cfg, ours, ranks, pin, args...)
}

// mpibenchOver is mpibenchOn over a method.
func mpibenchOver(ctx context.Context, cfg config, method string, ranks int, pin string, args ...string) ([]perf.Result, error) {
	line := ourMPIProgramOver(cfg, method, ranks, "mpibench", append([]string{
		"--json", "--time", cfg.point.String(), "--pin", pin, "--window", strconv.Itoa(rateWindow),
	}, args...)...)
	out, err := command(ctx, nil, line[0], line[1:]...)
	if err != nil {
		return nil, err
	}
	return parseResults(out)
}

// ourMPIProgram is the command line of one of our MPI programs.
func ourMPIProgram(cfg config, ranks int, program string, args ...string) []string {
	return ourMPIProgramOver(cfg, ours, ranks, program, args...)
}

// ourMPIProgramOver is ourMPIProgram over a method.
func ourMPIProgramOver(cfg config, method string, ranks int, program string, args ...string) []string {
	line := []string{
		filepath.Join(cfg.mpi, "mpiexec"), "-n", fmt.Sprint(ranks), "--no-label", "--env", "MPI_METHOD=" + method,
		filepath.Join(cfg.mpi, program),
	}
	return onCores(cfg, append(line, args...)...)
}
