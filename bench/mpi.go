package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/viaduct-hpc/viaduct/internal/perf"
)

// mpiPrograms are the names that Debian gives the parts of an MPI.
var mpiPrograms = map[string]struct {
	compiler, launcher string
	args               []string
}{
	openMPI: {"mpicc.openmpi", "mpirun.openmpi", []string{"--allow-run-as-root", "--bind-to", "core", "-np", "2"}},
	mpich:   {"mpicc.mpich", "mpiexec.mpich", []string{"-np", "2", "-bind-to", "core"}},
}

// mpiContender compiles peers/mpi.c with an MPI and runs it under its launcher.
func mpiContender(ctx context.Context, cfg config, name string) contender {
	p := mpiPrograms[name]
	if !find(p.compiler, p.launcher) {
		return absent(name, notInstalled)
	}
	program, err := filepath.Abs(filepath.Join(cfg.work, "mpi."+name))
	if err == nil {
		_, err = command(ctx, nil, p.compiler, "-O2", "-w", "-o", program, "bench/peers/mpi.c")
	}
	if err != nil {
		return absent(name, fmt.Sprintf("does not compile: %v", err))
	}
	args := append(onCores(cfg, append([]string{p.launcher}, p.args...)...), program, name, millis(cfg), strconv.Itoa(rateWindow))
	for _, n := range latencySizes {
		args = append(args, fmt.Sprintf("latency:%d", n))
	}
	args = append(args, fmt.Sprintf("rate:%d", rateSize))
	for _, n := range bandwidthSizes {
		args = append(args, fmt.Sprintf("bandwidth:%d", n), fmt.Sprintf("bidirectional:%d", n))
	}
	return contender{name: name, run: func(ctx context.Context) ([]perf.Result, error) {
		out, err := command(ctx, nil, args[0], args[1:]...)
		if err != nil {
			return nil, err
		}
		return parseResults(out)
	}}
}

func millis(cfg config) string {
	return strconv.FormatFloat(cfg.point.Seconds()*1e3, 'f', -1, 64)
}
