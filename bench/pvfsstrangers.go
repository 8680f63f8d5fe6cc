package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/perf"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
)

const (
	// strangerServerFiles is the number of descriptors of a server in attacks that take up all connections.
	strangerServerFiles = 1024
	// strangerSettle is how long an attack runs before a client is measured.
	strangerSettle = 2 * time.Second
	// strangerTurns is how often a client is measured, and strangerBytes what it writes each time.
	strangerTurns = 40
	strangerBytes = 1 << 20
	strangerDir   = "/strangers"

	groupStrangers = "strangers" // for -only
	strangersRowIs = pvfsRowsPrefix + "mount, write 1 MiB and leave, beside strangers"
)

// A slowdown is the cost of strangers for another client: its times to mount, to write strangerBytes and to unmount, divided by
// those without strangers.
type slowdown struct {
	Attack string  `json:"attack"`
	Quiet  float64 `json:"quiet_seconds"`
	Median float64 `json:"median"` // of the times, over Quiet
	Worst  float64 `json:"worst"`  // the longest of them
}

// pvfsStrangers measures each attack with new servers.
func pvfsStrangers(ctx context.Context, cfg config, into *[]slowdown) error {
	for _, attack := range attackNames {
		s, err := pvfsStranger(ctx, cfg, attack)
		if err != nil {
			return fmt.Errorf("%s: %w", attack, err)
		}
		*into = append(*into, s)
	}
	return nil
}

func pvfsStranger(ctx context.Context, cfg config, attack string) (s slowdown, err error) {
	fs, err := startServers(cfg, true, func(_ *fileSystem, conf, alias string) ([]string, error) {
		limit := fmt.Sprintf(`ulimit -n %d; exec "$@"`, strangerServerFiles)
		if attack != attackIdle {
			limit = `ulimit -n "$(ulimit -H -n)"; exec "$@"`
		}
		return []string{"sh", "-c", limit, "sh", cfg.pvfsd, "serve", "--config", conf, "--alias", alias, "--create"}, nil
	})
	if err != nil {
		return s, err
	}
	defer fs.stop()
	source := ourSource(fs, oursTCP)
	if err := placeForStrangers(ctx, source); err != nil {
		return s, fs.explain(err)
	}
	turns, count := max(strangerTurns/cfg.pvfsLess, 2), max(connectionsOf[attack]/cfg.pvfsLess, 1)
	quiet, err := timesOfClient(ctx, source, turns)
	if err != nil {
		return s, fs.explain(err)
	}
	child, err := perf.StartChild("strangers", perf.SelfCommand(append([]string{roleStrangers, attack, strconv.Itoa(count), source}, fs.tcp...)...))
	if err != nil {
		return s, err
	}
	defer child.Kill()
	if _, err := child.Answer(); err != nil {
		return s, fs.explain(err)
	}
	time.Sleep(strangerSettle / time.Duration(cfg.pvfsLess))
	busy, err := timesOfClient(ctx, source, turns)
	if err != nil {
		return s, fs.explain(err)
	}
	s = slowdown{Attack: attack, Quiet: median(quiet)}
	for _, t := range busy {
		s.Worst = math.Max(s.Worst, t/s.Quiet)
	}
	s.Median = median(busy) / s.Quiet
	return s, nil
}

// placeForStrangers makes a folder that every user may write to.
func placeForStrangers(ctx context.Context, source string) (err error) {
	fs, err := client.Mount(ctx, source, client.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, fs.Close()) }()
	return errors.Join(fs.Mkdir(ctx, strangerDir, 0o777), fs.Chmod(ctx, strangerDir, 0o777))
}

// timesOfClient are the times of clients in seconds, each of a new client.
func timesOfClient(ctx context.Context, source string, turns int) (all []float64, err error) {
	data := make([]byte, strangerBytes)
	for range turns {
		began := time.Now()
		if err := writeOnce(ctx, source, data); err != nil {
			return nil, err
		}
		all = append(all, time.Since(began).Seconds())
	}
	return all, nil
}

func writeOnce(ctx context.Context, source string, data []byte) (err error) {
	fs, err := client.Mount(ctx, source, client.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, fs.Close()) }()
	f, err := fs.OpenFile(ctx, strangerDir+"/victim", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(data, 0)
	return errors.Join(err, f.Close())
}

// strangersRow is the row for the worst of the attacks.
func strangersRow(all []slowdown) row {
	const reach, aim = 3, 1.5
	worst, parts := math.NaN(), []string{}
	for _, s := range all {
		if math.IsNaN(worst) || s.Median > worst {
			worst = s.Median
		}
		parts = append(parts, fmt.Sprintf("%s %s (at worst %s)", s.Attack, times(s.Median), times(s.Worst)))
	}
	r := row{
		What: strangersRowIs, Value: isUnknown,
		Reach: fmt.Sprintf("≤ %d × quiet", reach), Aim: fmt.Sprintf("≤ %.1f × quiet", aim), Verdict: judge(worst, reach, aim),
	}
	if len(all) > 0 {
		r.Value, r.Bare = strings.Join(parts, ", "), fmt.Sprintf("quiet: %.1f ms", all[0].Quiet*1e3)
	}
	return r
}

// raiseFiles raises this process's limit of descriptors to its maximum, and returns it.
func raiseFiles() (int, error) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, err
	}
	limit.Cur = limit.Max
	return int(min(limit.Cur, math.MaxInt32)), syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)
}
