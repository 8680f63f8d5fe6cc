package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/perf"
	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/checkpoint"
)

// groupCheckpoint is the part, for -only, with checkpoints on our file system.
const groupCheckpoint = "checkpoint"

// checkpointRanks is how many ranks save an array of as many bytes as the file that pvfs cp copies.
const checkpointRanks = 4

// roleCheckpoint is a rank of a job that saves and restores.
const roleCheckpoint = "checkpoint-rank"

// Tests of checkpoints. The copies are made by pvfs cp, with the same servers and between the same moments.
const (
	checkpointSave    perf.Test = "checkpoint-save"
	checkpointRestore perf.Test = "checkpoint-restore"
	checkpointIn      perf.Test = "checkpoint-copy-in"
	checkpointOut     perf.Test = "checkpoint-copy-out"
)

// checkpointName is a contender: a job with servers that it reaches over a method.
func checkpointName(method string) string { return "checkpoint " + method }

// overCheckpoint are the contenders, which are compared only with pvfs cp.
var overCheckpoint = []string{checkpointName(oursTCP), checkpointName(ours)}

func checkpointContenders(cfg config) []contender {
	return []contender{checkpointContender(cfg, oursTCP), checkpointContender(cfg, ours)}
}

// checkpointContender copies a file into a file system and out of it, and saves and restores as many
// bytes from several ranks.
func checkpointContender(cfg config, method string) contender {
	return contender{name: checkpointName(method), run: func(ctx context.Context) ([]perf.Result, error) {
		input, err := pvfsInput(cfg)
		if err != nil {
			return nil, err
		}
		fs, err := startOurs(ctx, cfg)
		if err != nil {
			return nil, err
		}
		defer fs.stop()
		all, err := measureCheckpoint(ctx, cfg, fs, method, input)
		if err != nil {
			return nil, fs.explain(err)
		}
		return all, nil
	}}
}

func measureCheckpoint(ctx context.Context, cfg config, fs *fileSystem, method, input string) ([]perf.Result, error) {
	kind := ourClient(cfg, method)
	if err := warmMemory(cfg); err != nil {
		return nil, err
	}
	in, err := timed(ctx, cfg, nil, kind.in(fs, input, "bytes")...)
	if err != nil {
		return nil, err
	}
	out, err := timed(ctx, cfg, nil, kind.out(fs, os.DevNull, "bytes")...)
	if err != nil {
		return nil, err
	}
	line := onCores(cfg, filepath.Join(cfg.mpi, "mpiexec"), "-n", fmt.Sprint(checkpointRanks), "--no-label", "--env", "MPI_METHOD="+ours,
		cfg.self, roleCheckpoint, "pvfs:"+ourSource(fs, method)+"/checkpoints", fmt.Sprint(cfg.pvfsBytes))
	twice := cfg // the ranks have the bytes, too
	twice.pvfsBytes *= 2
	if err := warmMemory(twice); err != nil {
		return nil, err
	}
	text, err := command(ctx, nil, line[0], line[1:]...)
	if err != nil {
		return nil, err
	}
	all, err := parseResults(text)
	return append(all, bytesResult(cfg, checkpointIn, in), bytesResult(cfg, checkpointOut, out)), err
}

// saveAndRestore runs a rank. Its arguments are the directory and the number of bytes of all ranks.
func saveAndRestore(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("want a directory and a number of bytes, not %q", args)
	}
	bytes, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	return mpi.Run(context.Background(), mpi.Options{}, func(ctx context.Context, p *mpi.Process) (err error) {
		w := p.World()
		s, err := checkpoint.Open(ctx, w, args[0], checkpoint.Options{Keep: 1})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.Close(ctx)) }()
		total := bytes / 8
		first, end := total*w.Rank()/w.Size(), total*(w.Rank()+1)/w.Size()
		mine := make([]uint64, end-first)
		for i := range mine {
			mine[i] = uint64(first+i) * 0x9e3779b97f4a7c15
		}
		item := checkpoint.Block("array", mpi.Slice(mine), []int{total}, []int{first}, []int{len(mine)})
		for _, part := range []struct {
			test perf.Test
			do   func() error
		}{
			{checkpointSave, func() error { return s.Save(ctx, 1, item) }},
			{checkpointRestore, func() error {
				_, err := s.Restore(ctx, item)
				return err
			}},
		} {
			if err := w.Barrier(ctx); err != nil {
				return err
			}
			begun := time.Now()
			if err := part.do(); err != nil {
				return err
			}
			took := time.Since(begun).Seconds()
			if err := w.Allreduce(ctx, mpi.InPlace, mpi.Value(&took), mpi.Max); err != nil {
				return err
			}
			r := perf.Result{Test: part.test, Size: bytes, Window: checkpointRanks, Median: took, P99: took, Unit: "s"}
			if w.Rank() == 0 {
				if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
					return err
				}
			}
		}
		return nil
	})
}
