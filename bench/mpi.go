package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/viaduct-hpc/viaduct/internal/perf"
)

// mpiPrograms are Debian's names of the parts of an MPI, and the settings that restrict it to TCP over loopback.
var mpiPrograms = map[string]struct {
	compiler, launcher string
	args               []string
	env                []string
	// few: measure only what no other contender measures, with a few sizes.
	few bool
}{
	openMPI: {compiler: "mpicc.openmpi", launcher: "mpirun.openmpi", args: openMPIArgs},
	openMPITCP: {
		compiler: "mpicc.openmpi", launcher: "mpirun.openmpi",
		args: append([]string{"--mca", "pml", "ob1", "--mca", "btl", "self,tcp", "--mca", "btl_tcp_if_include", "lo"}, openMPIArgs...),
	},
	// Over libfabric's reliable datagrams, of which libfabric itself has no test
	// with a window.
	openMPIUDP: {
		compiler: "mpicc.openmpi", launcher: "mpirun.openmpi",
		args: append([]string{"--mca", "pml", "cm", "--mca", "mtl", "ofi", "--mca", "mtl_ofi_provider_include", rxd}, openMPIArgs...),
		env:  rxdEnv, few: true,
	},
	// UCX opens every network device that it finds, and fails if one has gone meanwhile, for example with its
	// namespace.
	mpich: {compiler: "mpicc.mpich", launcher: "mpiexec.mpich", args: mpichArgs, env: []string{"UCX_NET_DEVICES=lo", "UCX_WARN_UNUSED_ENV_VARS=n"}},
	// Debian's MPICH is built on UCX, with its own shared memory besides.
	mpichTCP: {compiler: "mpicc.mpich", launcher: "mpiexec.mpich", args: mpichArgs, env: append([]string{"MPIR_CVAR_NOLOCAL=1"}, ucxTCPEnv...)},
}

var (
	openMPIArgs = []string{"--allow-run-as-root", "--bind-to", "core", "-np", "2"}
	mpichArgs   = []string{"-np", "2", "-bind-to", "core"}
)

// mpiContender compiles peers/mpi.c with an MPI and runs it under its launcher.
func mpiContender(ctx context.Context, cfg config, name string) contender {
	p := mpiPrograms[name]
	if !find(p.compiler, p.launcher) {
		return absent(name, notInstalled)
	}
	program, err := compileMPI(ctx, cfg, p.compiler, "mpi")
	if err != nil {
		return absent(name, fmt.Sprintf("does not compile: %v", err))
	}
	args := append(onCores(cfg, append([]string{p.launcher}, p.args...)...), program, name, millis(cfg), strconv.Itoa(rateWindow))
	measure := cfg.sizes
	if p.few {
		measure = sizes{latencies: fewSizes}
	}
	for _, n := range measure.latencies {
		args = append(args, fmt.Sprintf("latency:%d", n))
	}
	args = append(args, fmt.Sprintf("rate:%d", rateSize))
	for _, n := range measure.bandwidths {
		args = append(args, fmt.Sprintf("bandwidth:%d", n), fmt.Sprintf("bidirectional:%d", n))
	}
	if !p.few {
		args = append(args, fmt.Sprintf("%s:0", barrier), fmt.Sprintf("%s:%d", allreduce, allreduceSize))
	}
	return contender{name: name, run: func(ctx context.Context) ([]perf.Result, error) {
		out, err := command(ctx, p.env, args[0], args[1:]...)
		if err != nil {
			return nil, err
		}
		return parseResults(out)
	}}
}

// compileMPI compiles a program of bench/peers.
func compileMPI(ctx context.Context, cfg config, compiler, name string) (program string, err error) {
	if program, err = filepath.Abs(filepath.Join(cfg.work, compiler+"."+name)); err == nil {
		_, err = command(ctx, nil, compiler, "-O2", "-w", "-o", program, filepath.Join("bench/peers", name+".c"))
	}
	return program, err
}

func millis(cfg config) string {
	return strconv.FormatFloat(cfg.point.Seconds()*1e3, 'f', -1, 64)
}
