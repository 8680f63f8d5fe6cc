package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/netns"
	"github.com/viaduct-hpc/viaduct/internal/perf"
	"github.com/viaduct-hpc/viaduct/mpi"
)

// groupHosts is the part, for -only, with a job on several hosts.
const groupHosts = "hosts"

// The job: ranks on hosts, which are network namespaces behind a switch.
const (
	hostsMany  = 16
	hostsRanks = 64
)

// The contender, its test, and the program of its ranks.
const (
	onHosts              = "mpiexec on hosts"
	hostsStart perf.Test = "hosts-start" // from the start of mpiexec to its end
	roleHosts            = "hosts-rank"
)

// hostsContender starts and ends a job of ranks that add up numbers.
func hostsContender(cfg config) contender {
	return contender{name: onHosts, run: func(ctx context.Context) ([]perf.Result, error) {
		n, err := netns.Open(netns.Options{Hosts: hostsMany, Join: netns.Switch})
		if err != nil {
			return nil, err
		}
		defer n.Close()
		dir, err := os.MkdirTemp(cfg.work, "hosts")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		rsh, err := namespaceShell(dir, n.Hosts)
		if err != nil {
			return nil, err
		}
		began := time.Now()
		out, err := command(ctx, nil, filepath.Join(cfg.mpi, "mpiexec"), "--hosts", fmt.Sprintf("n[1-%d]:%d", hostsMany, hostsRanks/hostsMany), "--rsh", rsh, cfg.self, roleHosts)
		if err != nil {
			return nil, err
		}
		took := time.Since(began).Seconds()
		if lines := strings.Count(string(out), "\n"); lines != hostsRanks {
			return nil, fmt.Errorf("%d of %d ranks: %s", lines, hostsRanks, out)
		}
		return []perf.Result{{Test: hostsStart, Method: onHosts, Size: hostsRanks, Window: hostsMany, Median: took, P99: took, Unit: "s"}}, nil
	}}
}

// namespaceShell makes a command for --rsh that runs a program in the namespace of a host, which then
// has a name of its own, so that it counts as a host.
func namespaceShell(dir string, hosts []*netns.Host) (rsh string, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for i, h := range hosts {
		if err := os.Symlink(h.Path(), filepath.Join(dir, fmt.Sprintf("n%d", i+1))); err != nil {
			return "", err
		}
	}
	rsh = filepath.Join(dir, "rsh")
	return rsh, os.WriteFile(rsh, []byte(`#!/bin/sh
host=$1
shift
exec nsenter --net=`+dir+`/$host unshare --uts --mount sh -c 'hostname "$0" && exec "$@"' $host "$@"
`), 0o755)
}

// hostsRank is a rank of the job.
func hostsRank([]string) error {
	return mpi.Run(context.Background(), mpi.Options{}, func(ctx context.Context, p *mpi.Process) error {
		w := p.World()
		in, sum := int64(w.Rank()), int64(0)
		if err := w.Allreduce(ctx, mpi.Value(&in), mpi.Value(&sum), mpi.Sum); err != nil {
			return err
		}
		if want := int64(w.Size() * (w.Size() - 1) / 2); sum != want {
			return fmt.Errorf("the sum is %d instead of %d", sum, want)
		}
		fmt.Println("rank", w.Rank())
		return nil
	})
}

// The marks, in seconds.
const (
	hostsReach      = 3.0
	hostsAim        = 1.0
	hostsRowsPrefix = "hosts: "
)

func hostsRow(all *results) row {
	took := value(all, onHosts, hostsStart, hostsRanks)
	return row{
		What:  fmt.Sprintf("%s%d ranks on %d namespaces, from the start of mpiexec to its end", hostsRowsPrefix, hostsRanks, hostsMany),
		Value: measured(took, "%.2f s"),
		Reach: fmt.Sprintf("≤ %g s", hostsReach), Aim: fmt.Sprintf("≤ %g s", hostsAim), Verdict: judge(took, hostsReach, hostsAim),
	}
}
