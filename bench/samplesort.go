package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/viaduct-hpc/viaduct/internal/perf"
)

// The sample sort: the number of processes and records.
const (
	sortRanks       = manyRanks
	sortRecords     = 4 << 20
	sortRecordBytes = 16
)

// sortName is the name of a contender that sorts with an MPI.
func sortName(mpi string) string { return mpi + " sample sort" }

// sortInput is the file to be sorted.
func sortInput(cfg config) (string, error) { return filepath.Abs(filepath.Join(cfg.work, "records")) }

// removeSortInput removes that file, because it is large.
func removeSortInput(cfg config) {
	if input, err := sortInput(cfg); err == nil {
		_ = os.Remove(input) // it may not be there
	}
}

// sortContenders sort the same file: ours in Go, and the same algorithm in C,
// peers/samplesort.c, with other MPIs.
func sortContenders(ctx context.Context, cfg config) []contender {
	input, err := sortInput(cfg)
	output := input + ".sorted"
	if err == nil {
		line := ourMPIProgram(cfg, sortRanks, "samplesort", "-generate", strconv.Itoa(sortRecords), input, output)
		_, err = command(ctx, nil, line[0], line[1:]...)
		_ = os.Remove(output) // err says what went wrong
	}
	if err != nil {
		var all []contender
		for _, name := range []string{oursMPI, openMPI, mpich} {
			all = append(all, absent(sortName(name), fmt.Sprintf("no input: %v", err)))
		}
		return all
	}
	return []contender{
		sortContender(oursMPI, output, nil, ourMPIProgram(cfg, sortRanks, "samplesort", input, output)),
		sortPeer(ctx, cfg, openMPI, input, output), sortPeer(ctx, cfg, mpich, input, output),
	}
}

func sortPeer(ctx context.Context, cfg config, name, input, output string) contender {
	p := mpiPrograms[name]
	if !find(p.compiler, p.launcher) {
		return absent(sortName(name), notInstalled)
	}
	program, err := compileMPI(ctx, cfg, p.compiler, "samplesort")
	if err != nil {
		return absent(sortName(name), fmt.Sprintf("does not compile: %v", err))
	}
	line := append([]string{p.launcher}, manyArgs[name]...)
	return sortContender(name, output, p.env, onCores(cfg, append(line, program, input, output)...))
}

// sortContender runs a command line. The output is not needed: every run begins without
// one.
func sortContender(mpi, output string, env, line []string) contender {
	return contender{name: sortName(mpi), run: func(ctx context.Context) ([]perf.Result, error) {
		defer func() { _ = os.Remove(output) }() // it may not be there
		out, err := command(ctx, env, line[0], line[1:]...)
		if err != nil {
			return nil, err
		}
		took, err := parseSort(out)
		if err != nil {
			return nil, err
		}
		return []perf.Result{{
			Test: sampleSort, Method: mpi, Size: sortRecords * sortRecordBytes, Window: sortRanks, Median: took, P99: took, Unit: "s",
		}}, nil
	}}
}

// sortLine is the last line of the programs in C and in Go.
var sortLine = regexp.MustCompile(`(?m)^samplesort: (\d+) records on (\d+) processes in ([0-9.]+) s, verified$`)

// parseSort returns the seconds that a program reports for the requested number of
// records and processes.
func parseSort(out []byte) (float64, error) {
	m := sortLine.FindSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("the program does not say that it sorted: %.200q", out)
	}
	if string(m[1]) != strconv.Itoa(sortRecords) || string(m[2]) != strconv.Itoa(sortRanks) {
		return 0, fmt.Errorf("%d records were to be sorted on %d processes, not %s on %s", sortRecords, sortRanks, m[1], m[2])
	}
	took, err := strconv.ParseFloat(string(m[3]), 64)
	if err == nil && took <= 0 {
		err = errors.New("it took no time")
	}
	return took, err
}
