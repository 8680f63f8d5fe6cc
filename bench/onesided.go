package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/viaduct-hpc/viaduct/internal/perf"
)

// groupOneSided is the part, for -only, of one-sided operations and partitioned messages.
const groupOneSided = "onesided"

// The tests, which mpibench and the programs in C name alike.
const (
	put         perf.Test = "put"
	get         perf.Test = "get"
	fetchAndOp  perf.Test = "fetch_and_op"
	fence       perf.Test = "fence"
	partitioned perf.Test = "partitioned"
)

// partitions is how many partitions a message of mpibench's test has.
const partitions = 64

// oursMPITCP is package mpi over TCP.
const oursMPITCP = "mpi tcp"

// oneSidedName is the name of a contender.
func oneSidedName(mpi string) string { return mpi + ", one-sided" }

// overOneSided are those contenders, which are compared only with each other.
var overOneSided = []string{
	oneSidedName(oursMPI), oneSidedName(openMPI), oneSidedName(mpich), oneSidedName(oursMPITCP), oneSidedName(openMPITCP),
}

// oneSidedArgs are further options of other MPIs. Two ranks of one host would map a window, whatever
// their messages take, and would not use TCP.
var oneSidedArgs = map[string][]string{openMPITCP: {"--mca", "osc", "pt2pt"}}

func oneSidedContenders(ctx context.Context, cfg config) []contender {
	small := []string{fmt.Sprintf("%s:%d", put, rateSize), fmt.Sprintf("%s:%d", get, rateSize), fmt.Sprintf("%s:%d", fetchAndOp, rateSize),
		fmt.Sprintf("%s:%d", fence, rateSize), fmt.Sprintf("%s:%d", put, mpiLargeSize)}
	return []contender{
		{name: oneSidedName(oursMPI), run: func(ctx context.Context) ([]perf.Result, error) {
			one, err := mpibench(ctx, cfg, "--sizes", strconv.Itoa(rateSize), string(put), string(get), string(fetchAndOp), string(fence))
			if err != nil {
				return nil, err
			}
			large, err := mpibench(ctx, cfg, "--sizes", strconv.Itoa(mpiLargeSize), string(put), string(perf.Latency), string(partitioned))
			return append(one, large...), err
		}},
		oneSidedPeer(ctx, cfg, openMPI, small), oneSidedPeer(ctx, cfg, mpich, small),
		{name: oneSidedName(oursMPITCP), run: func(ctx context.Context) ([]perf.Result, error) {
			return mpibenchOver(ctx, cfg, oursTCP, 2, cfg.cores.String(), "--memory", "created", "--sizes", strconv.Itoa(rateSize), string(put))
		}},
		oneSidedPeer(ctx, cfg, openMPITCP, small[:1]),
	}
}

// oneSidedPeer measures another MPI by peers/rma.c, and by peers/partitioned.c if it has partitioned
// messages.
func oneSidedPeer(ctx context.Context, cfg config, name string, tests []string) contender {
	p := mpiPrograms[name]
	if !find(p.compiler, p.launcher) {
		return absent(oneSidedName(name), notInstalled)
	}
	windows, err := compileMPI(ctx, cfg, p.compiler, "rma")
	if err != nil {
		return absent(oneSidedName(name), fmt.Sprintf("does not compile: %v", err))
	}
	launch := onCores(cfg, append(append([]string{p.launcher}, p.args...), oneSidedArgs[name]...)...)
	lines := [][]string{append(append(launch[:len(launch):len(launch)], windows, name, millis(cfg)), tests...)}
	// Open MPI 4 has no partitioned messages, and does not compile this.
	if parts, err := compileMPI(ctx, cfg, p.compiler, "partitioned"); err == nil {
		lines = append(lines, append(launch[:len(launch):len(launch)], parts, name, millis(cfg), strconv.Itoa(partitions), strconv.Itoa(mpiLargeSize)))
	}
	return contender{name: oneSidedName(name), run: func(ctx context.Context) (all []perf.Result, err error) {
		for _, line := range lines {
			out, err := command(ctx, p.env, line[0], line[1:]...)
			if err != nil {
				return nil, err
			}
			got, err := parseResults(out)
			if err != nil {
				return nil, err
			}
			all = append(all, got...)
		}
		return all, nil
	}}
}
