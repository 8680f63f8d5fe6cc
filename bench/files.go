package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/viaduct-hpc/viaduct/internal/perf"
)

// groupFiles is the part, for -only, of files that ranks write and read together.
const groupFiles = "files"

// The file has filesBytes, the array of float64 in it so many planes, rows and columns. That is what
// mpibench makes of the size.
const (
	filesBytes   = 256 << 20
	filesPlanes  = 512
	filesRows    = 256
	filesColumns = 256
	filesRanks   = manyRanks
)

// The tests, which mpibench and peers/blocks.c name alike.
const (
	writeAll        perf.Test = "write_all"
	readAll         perf.Test = "read_all"
	writeContiguous perf.Test = "write_contiguous"
	readContiguous  perf.Test = "read_contiguous"
	writeStrided    perf.Test = "write_strided"
	readStrided     perf.Test = "read_strided"
)

// filesTests are all of them, in the order in which they run; the first filesFast take less than a
// second.
var filesTests = []perf.Test{writeAll, readAll, writeContiguous, readContiguous, writeStrided, readStrided}

const filesFast = 4

// openMPIROMIO is Open MPI with ROMIO in place of its own files.
const openMPIROMIO = "openmpi romio"

// Contenders with files in a local file system, and on our file servers.
func filesName(mpi string) string { return mpi + ", files" }

func filesOnName(method string) string {
	return fmt.Sprintf("%s, files on pvfsd over %s", oursMPI, method)
}

// overFiles are those contenders, which are compared only with each other.
var overFiles = []string{
	filesName(oursMPI), filesName(openMPI), filesName(openMPIROMIO), filesName(mpich), filesOnName(oursTCP), filesOnName(ours),
}

func filesContenders(ctx context.Context, cfg config) []contender {
	size := []string{"--sizes", strconv.Itoa(filesBytes)}
	return []contender{
		{name: filesName(oursMPI), run: func(ctx context.Context) ([]perf.Result, error) {
			file, err := scratch(cfg)
			if err != nil {
				return nil, err
			}
			return mpibenchOn(ctx, cfg, filesRanks, "off", append(size, "--file", file, string(writeAll), string(readAll))...)
		}},
		filesPeer(ctx, cfg, openMPI, openMPI), filesPeer(ctx, cfg, openMPIROMIO, openMPI, "--mca", "io", "romio321"), filesPeer(ctx, cfg, mpich, mpich),
		filesOnServers(cfg, oursTCP), filesOnServers(cfg, ours),
	}
}

// scratch is the file in a local file system. All contenders have the same name: each makes it, and
// removes it.
func scratch(cfg config) (string, error) { return filepath.Abs(filepath.Join(cfg.work, "array")) }

// filesPeer measures the files of another MPI by peers/blocks.c.
func filesPeer(ctx context.Context, cfg config, name, installed string, args ...string) contender {
	p := mpiPrograms[installed]
	if !find(p.compiler, p.launcher) {
		return absent(filesName(name), notInstalled)
	}
	program, err := compileMPI(ctx, cfg, p.compiler, "blocks")
	if err != nil {
		return absent(filesName(name), fmt.Sprintf("does not compile: %v", err))
	}
	file, err := scratch(cfg)
	if err != nil {
		return absent(filesName(name), err.Error())
	}
	line := append(append([]string{p.launcher}, manyArgs[installed]...), args...)
	line = onCores(cfg, append(line, program, name, millis(cfg), file, strconv.Itoa(filesPlanes), strconv.Itoa(filesRows), strconv.Itoa(filesColumns))...)
	return contender{name: filesName(name), run: func(ctx context.Context) ([]perf.Result, error) {
		out, err := command(ctx, p.env, line[0], line[1:]...)
		if err != nil {
			return nil, err
		}
		return parseResults(out)
	}}
}

// filesOnServers measures files on our file servers, over a method: together, the same bytes in one
// range for each rank, and each rank on its own, which is done once in a round, because it takes seconds.
func filesOnServers(cfg config, method string) contender {
	return contender{name: filesOnName(method), run: func(ctx context.Context) ([]perf.Result, error) {
		fs, err := startOurs(ctx, cfg)
		if err != nil {
			return nil, err
		}
		defer fs.stop()
		if err := warmMemory(cfg); err != nil {
			return nil, err
		}
		var all []perf.Result
		for i, test := range filesTests {
			times := "3"
			if i >= filesFast {
				times = "1"
			}
			line := ourMPIProgram(cfg, filesRanks, "mpibench", "--json", "--pin", "off", "--iterations", times, "--batches", times,
				"--sizes", strconv.Itoa(filesBytes), "--file", "pvfs:"+ourSource(fs, method)+"/array", string(test))
			out, err := command(ctx, nil, line[0], line[1:]...)
			if err != nil {
				return nil, fs.explain(err)
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
