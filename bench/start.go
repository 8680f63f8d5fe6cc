package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/perf"
	"github.com/viaduct-hpc/viaduct/mpi"
)

// groupStart is the part, for -only, with jobs of many ranks.
const groupStart = "start"

// Ranks of the jobs: many, and as many as other MPIs start on two processors in a few seconds.
const (
	startMany = 1000
	startSome = 128
)

const (
	startTime   perf.Test = "start"        // seconds from the start of a job of hello to its end
	startMemory perf.Test = "start-memory" // bytes of a rank that waits
)

// startRanks are the ranks of each contender.
var startRanks = map[string][]int{oursMPI: {startSome, startMany}, mpich: {startSome}, openMPI: {startSome}}

// startName is the name of a contender with jobs of many ranks.
func startName(mpi string) string { return mpi + ", start" }

// startArgs are the options of other MPIs to start more ranks than there are processors.
var startArgs = map[string][]string{
	openMPI: {"--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-np"},
	mpich:   {"-bind-to", "none", "-np"},
}

func startContenders(ctx context.Context, cfg config) []contender {
	all := []contender{{name: startName(oursMPI), run: func(ctx context.Context) ([]perf.Result, error) {
		got, err := startTimes(ctx, oursMPI, nil, func(ranks int) []string { return ourMPIProgram(cfg, ranks, "hello") })
		if err != nil {
			return nil, err
		}
		bytes, err := memoryOfRanks(cfg, startMany)
		return append(got, perf.Result{Test: startMemory, Size: startMany, Median: bytes, P99: bytes, Unit: "B"}), err
	}}}
	for _, name := range []string{mpich, openMPI} {
		all = append(all, startPeer(ctx, cfg, name))
	}
	return all
}

func startPeer(ctx context.Context, cfg config, name string) contender {
	p := mpiPrograms[name]
	if !find(p.compiler, p.launcher) {
		return absent(startName(name), notInstalled)
	}
	program, err := compileMPI(ctx, cfg, p.compiler, "hello")
	if err != nil {
		return absent(startName(name), fmt.Sprintf("does not compile: %v", err))
	}
	return contender{name: startName(name), run: func(ctx context.Context) ([]perf.Result, error) {
		return startTimes(ctx, name, p.env, func(ranks int) []string {
			line := append([]string{p.launcher}, startArgs[name]...)
			return onCores(cfg, append(line, strconv.Itoa(ranks), program)...)
		})
	}}
}

// startTimes runs jobs of hello and returns how long each took.
func startTimes(ctx context.Context, name string, env []string, line func(ranks int) []string) (all []perf.Result, err error) {
	for _, ranks := range startRanks[name] {
		words := line(ranks)
		began := time.Now()
		out, err := command(ctx, env, words[0], words[1:]...)
		took := time.Since(began).Seconds()
		if err != nil {
			return nil, err
		}
		if last := fmt.Sprintf("hello from rank %d of %d on ", ranks-1, ranks); !strings.Contains(string(out), last) {
			return nil, fmt.Errorf("%s does not greet from %d ranks: %.200q", words[0], ranks, out)
		}
		all = append(all, perf.Result{Test: startTime, Size: ranks, Median: took, P99: took, Unit: "s"})
	}
	return all, nil
}

const roleRank = "waiting-rank"

// waitingRank is one of many ranks: it greets rank 0, as hello does, and waits until the input of
// rank 0 ends.
func waitingRank([]string) error {
	return mpi.Run(context.Background(), mpi.Options{}, func(ctx context.Context, p *mpi.Process) error {
		w, one := p.World(), []byte{1}
		if w.Rank() != 0 {
			if err := w.Send(ctx, mpi.Slice(one), 0, 1); err != nil {
				return err
			}
			_, err := w.Recv(ctx, mpi.Slice(one), 0, 2)
			return err
		}
		for rank := 1; rank < w.Size(); rank++ {
			if _, err := w.Recv(ctx, mpi.Slice(one), rank, 1); err != nil {
				return err
			}
		}
		fmt.Println("ok")
		if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
			return err
		}
		for rank := 1; rank < w.Size(); rank++ {
			if err := w.Send(ctx, mpi.Slice(one), rank, 2); err != nil {
				return err
			}
		}
		return nil
	})
}

// memoryOfRanks returns the memory of a rank of a job, in bytes: the mean of all, memory that several
// share counted once.
func memoryOfRanks(cfg config, ranks int) (float64, error) {
	job, err := perf.StartChild("job", onCores(cfg, filepath.Join(cfg.mpi, "mpiexec"), "-n", strconv.Itoa(ranks), "--no-label",
		"--env", "MPI_METHOD="+ours, cfg.self, roleRank))
	if err != nil {
		return 0, err
	}
	defer func() { _ = job.Close() }() // ends the input of rank 0
	if _, err := job.Answer(); err != nil {
		return 0, err
	}
	total, found := 0.0, 0
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || !isRank(pid, job.PID()) {
			continue
		}
		rollup, err := smaps(pid)
		if err != nil {
			return 0, err
		}
		total += rollup["Pss"]
		found++
	}
	if found != ranks {
		return 0, fmt.Errorf("%d of %d ranks are found in /proc", found, ranks)
	}
	return total / float64(ranks), nil
}

// isRank tells whether a process is a waiting rank that a process has started.
func isRank(pid, parent int) bool {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || !strings.HasSuffix(string(line), "\x00"+roleRank+"\x00") {
		return false
	}
	got, err := parentOf(pid)
	return err == nil && got == parent
}

// parentOf reads the parent of a process from the kernel.
func parentOf(pid int) (int, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// Behind the name, which may contain anything, come the state and the parent.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 2 {
		return 0, errors.New("no parent")
	}
	return strconv.Atoi(fields[1])
}
