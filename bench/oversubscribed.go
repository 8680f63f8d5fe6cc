package main

import (
	"context"
	"fmt"
	"regexp"
	"strconv"

	"github.com/viaduct-hpc/viaduct/internal/perf"
)

// groupOversubscribed is the part, for -only, with more ranks than processors.
const groupOversubscribed = "oversubscribed"

// manyRanks is the number of ranks on the two processors.
const manyRanks = 4

const (
	alltoall perf.Test = "alltoall"
	heat     perf.Test = "heat"
)

// The plate of the test heat.
const (
	heatRows  = 600
	heatCols  = 800
	heatSteps = 200
)

// openMPIPolling is Open MPI that does not know that it has too few processors.
const openMPIPolling = "openmpi polling"

// manyName is the name of a contender with more ranks than processors.
func manyName(mpi string) string { return fmt.Sprintf("%s, %d ranks", mpi, manyRanks) }

// overSubscribed are those contenders, which are compared only with each other.
var overSubscribed = []string{manyName(oursMPI), manyName(openMPI), manyName(openMPIPolling), manyName(mpich)}

// manyArgs are the options of other MPIs to start more ranks than there are processors. Open
// MPI gives up the processor when it waits, if it is told.
var manyArgs = map[string][]string{
	openMPI: {"--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-np", strconv.Itoa(manyRanks)},
	openMPIPolling: {
		"--allow-run-as-root", "--oversubscribe", "--mca", "mpi_yield_when_idle", "0", "--bind-to", "none", "-np", strconv.Itoa(manyRanks),
	},
	mpich: {"-np", strconv.Itoa(manyRanks), "-bind-to", "none"},
}

func oversubscribedContenders(ctx context.Context, cfg config) []contender {
	all := []contender{{name: manyName(oursMPI), run: func(ctx context.Context) ([]perf.Result, error) {
		got, err := mpibenchOn(ctx, cfg, manyRanks, "off", "--sizes", strconv.Itoa(rateSize), string(alltoall), string(barrier), string(allreduce))
		if err != nil {
			return nil, err
		}
		plate := []string{"-rows", strconv.Itoa(heatRows), "-cols", strconv.Itoa(heatCols), "-steps", strconv.Itoa(heatSteps)}
		took, err := runHeat(ctx, nil, ourMPIProgram(cfg, manyRanks, "heat", plate...))
		return append(got, took), err
	}}}
	for _, peer := range []struct{ name, installed string }{{openMPI, openMPI}, {openMPIPolling, openMPI}, {mpich, mpich}} {
		all = append(all, oversubscribedPeer(ctx, cfg, peer.name, peer.installed))
	}
	return all
}

func oversubscribedPeer(ctx context.Context, cfg config, name, installed string) contender {
	p := mpiPrograms[installed]
	if !find(p.compiler, p.launcher) {
		return absent(manyName(name), notInstalled)
	}
	tests, err := compileMPI(ctx, cfg, p.compiler, "mpi")
	if err != nil {
		return absent(manyName(name), fmt.Sprintf("does not compile: %v", err))
	}
	plate, err := compileMPI(ctx, cfg, p.compiler, "heat")
	if err != nil {
		return absent(manyName(name), fmt.Sprintf("does not compile: %v", err))
	}
	launch := onCores(cfg, append([]string{p.launcher}, manyArgs[name]...)...)
	launch = launch[:len(launch):len(launch)]
	return contender{name: manyName(name), run: func(ctx context.Context) ([]perf.Result, error) {
		line := append(launch, tests, name, millis(cfg), strconv.Itoa(rateWindow),
			fmt.Sprintf("%s:%d", alltoall, rateSize), fmt.Sprintf("%s:0", barrier), fmt.Sprintf("%s:%d", allreduce, allreduceSize))
		out, err := command(ctx, p.env, line[0], line[1:]...)
		if err != nil {
			return nil, err
		}
		got, err := parseResults(out)
		if err != nil {
			return nil, err
		}
		took, err := runHeat(ctx, p.env, append(launch, plate, strconv.Itoa(heatRows), strconv.Itoa(heatCols), strconv.Itoa(heatSteps)))
		return append(got, took), err
	}}
}

// runHeat runs a program that computes the plate.
func runHeat(ctx context.Context, env, line []string) (perf.Result, error) {
	out, err := command(ctx, env, line[0], line[1:]...)
	if err != nil {
		return perf.Result{}, err
	}
	took, err := parseHeat(out)
	return perf.Result{Test: heat, Window: manyRanks, Median: took, P99: took, Unit: "s"}, err
}

// heatLine is what the programs in C and in Go print.
var heatLine = regexp.MustCompile(`(?m)^heat: (\d+) × (\d+) cells, (\d+) steps on (\d+) × (\d+) processes in ([0-9.]+) s$`)

// parseHeat returns the seconds that a program reports for the requested plate.
func parseHeat(out []byte) (float64, error) {
	m := heatLine.FindSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("the program does not say how long it took: %.200q", out)
	}
	var got [5]int
	for i := range got {
		got[i], _ = strconv.Atoi(string(m[i+1])) // digits
	}
	if got[0] != heatRows || got[1] != heatCols || got[2] != heatSteps || got[3]*got[4] != manyRanks {
		return 0, fmt.Errorf("another plate than %d × %d cells, %d steps on %d processes: %q", heatRows, heatCols, heatSteps, manyRanks, m[0])
	}
	return strconv.ParseFloat(string(m[6]), 64)
}
