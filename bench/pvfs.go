package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/perf"
)

// The file system is measured with two servers on the same two cores as the clients. The servers' storage is in memory, as is
// the copied file. Every contender starts its own servers and stops them. They sync to the disk as stock's pvfs2-genconfig
// configures: names and attributes with every change, the bytes of files not.
const (
	pvfsBytes = 1 << 30 // of the file that is copied
	// pvfsCrowd is how many clients create, stat and remove files at once.
	pvfsCrowd = 16
	// pvfsFiles is how many files each of them handles, and pvfsFilesAlone a single client: enough that the cost of a process's
	// first operation does not matter, and that a disturbance of some milliseconds does not, either.
	pvfsFiles      = 400
	pvfsFilesAlone = 2000
	memoryFolder   = "/dev/shm"
	groupPVFS      = "pvfs"
)

// Contenders of the file system: client and servers.
const (
	pvfsTCP      = "pvfs tcp"
	pvfsShm      = "pvfs via+shm"
	pvfsStock    = "orangefs"
	pvfsOnStock  = "pvfs, servers of orangefs"
	pvfsForStock = "orangefs, servers of pvfsd"
	pvfsBare     = "cp"
	pvfsSockets  = "sockets"
)

// overPVFS are the contenders of the file system, which are compared only with each other.
var overPVFS = []string{pvfsTCP, pvfsShm, pvfsStock, pvfsOnStock, pvfsForStock, pvfsBare, pvfsSockets}

// Tests of the file system.
const (
	pvfsIn  perf.Test = "pvfs-in"
	pvfsOut perf.Test = "pvfs-out"
)

// The operations on names.
var pvfsActs = []string{"create", "stat", "remove"}

// namesTest is the test of an operation by some clients.
func namesTest(act string, clients int) perf.Test {
	return perf.Test(fmt.Sprintf("pvfs-%s-%d", act, clients))
}

// A clientKind is a client program of a file system.
type clientKind struct {
	// in and out are command lines that copy a local file in and out.
	in, out func(fs *fileSystem, local, name string) []string
	// names is a program that takes commands, see namesOf.
	names func(fs *fileSystem, prefix string) []string
	env   func(fs *fileSystem) []string
}

// pvfsContenders are those of the file system.
func pvfsContenders(ctx context.Context, cfg config) []contender {
	stock, why := findStock(ctx, cfg)
	all := []contender{
		bareCopyContender(cfg),
		bareSocketsContender(cfg),
		pvfsContender(cfg, pvfsTCP, startOurs, ourClient(cfg, oursTCP)),
		pvfsContender(cfg, pvfsShm, startOurs, ourClient(cfg, ours)),
	}
	if why != "" {
		return append(all, absent(pvfsStock, why), absent(pvfsOnStock, why), absent(pvfsForStock, why))
	}
	return append(all,
		pvfsContender(cfg, pvfsStock, stock.start, stock.client()),
		pvfsContender(cfg, pvfsOnStock, stock.start, ourClient(cfg, oursTCP)),
		pvfsContender(cfg, pvfsForStock, startOurs, stock.client()),
	)
}

// memoryName is a name in memoryFolder that is unique to this process.
func memoryName(what string) string { return fmt.Sprintf("viaduct-bench-%d-%s", os.Getpid(), what) }

func inputName() string { return filepath.Join(memoryFolder, memoryName("input")) }

// pvfsInput is the file to be copied; it is made once.
func pvfsInput(cfg config) (string, error) {
	name := inputName()
	if info, err := os.Stat(name); err == nil && info.Size() == cfg.pvfsBytes {
		return name, nil
	}
	return name, fill(name, cfg.pvfsBytes)
}

// fill makes a file of size bytes.
func fill(name string, size int64) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	block := make([]byte, 1<<20)
	for i := range block {
		block[i] = byte(i*7 + i>>8)
	}
	for at := int64(0); at < size && err == nil; at += int64(len(block)) {
		_, err = f.Write(block[:min(int64(len(block)), size-at)])
	}
	return errors.Join(err, f.Close())
}

// warmMemory makes sure that there are enough recently used free pages for the next copy. A virtual machine may have to get
// other pages from its host, which takes several times as long as filling them, and would dominate every comparison.
func warmMemory(cfg config) error {
	name := filepath.Join(memoryFolder, memoryName("warm"))
	return errors.Join(fill(name, cfg.pvfsBytes+cfg.pvfsBytes/8), os.Remove(name))
}

// removePVFSInput removes the file to be copied.
func removePVFSInput() {
	_ = os.Remove(inputName()) // it may not be there
}

// bareCopyContender is the machine without our file system: cp from one file in memory to another, and to the null device.
func bareCopyContender(cfg config) contender {
	return contender{name: pvfsBare, run: func(ctx context.Context) ([]perf.Result, error) {
		input, err := pvfsInput(cfg)
		if err != nil {
			return nil, err
		}
		copied := input + ".copy"
		defer func() { _ = os.Remove(copied) }() // it may not be there
		if err := warmMemory(cfg); err != nil {
			return nil, err
		}
		in, err := timed(ctx, cfg, nil, "cp", input, copied)
		if err != nil {
			return nil, err
		}
		out, err := timed(ctx, cfg, nil, "dd", "if="+input, "of=/dev/null", "bs=1M", "status=none")
		return []perf.Result{bytesResult(cfg, pvfsIn, in), bytesResult(cfg, pvfsOut, out)}, err
	}}
}

// pvfsContender measures a client with servers.
func pvfsContender(cfg config, name string, start func(context.Context, config) (*fileSystem, error), kind clientKind) contender {
	return contender{name: name, run: func(ctx context.Context) ([]perf.Result, error) {
		input, err := pvfsInput(cfg)
		if err != nil {
			return nil, err
		}
		fs, err := start(ctx, cfg)
		if err != nil {
			return nil, err
		}
		defer fs.stop()
		all, err := measureNames(ctx, cfg, fs, kind)
		if err != nil {
			return nil, fs.explain(err)
		}
		if err := warmMemory(cfg); err != nil {
			return nil, err
		}
		in, err := timed(ctx, cfg, kind.env(fs), kind.in(fs, input, "bytes")...)
		if err != nil {
			return nil, fs.explain(err)
		}
		keepNull, err := modeOfNull()
		if err != nil {
			return nil, err
		}
		out, err := timed(ctx, cfg, kind.env(fs), kind.out(fs, os.DevNull, "bytes")...)
		if err = errors.Join(err, keepNull()); err != nil {
			return nil, fs.explain(err)
		}
		return append(all, bytesResult(cfg, pvfsIn, in), bytesResult(cfg, pvfsOut, out)), nil
	}}
}

// modeOfNull records the mode of the null device; restore restores it, because pvfs2-cp gives its target the mode of its
// source.
func modeOfNull() (restore func() error, err error) {
	was, err := os.Stat(os.DevNull)
	if err != nil {
		return nil, err
	}
	return func() error {
		if now, err := os.Stat(os.DevNull); err != nil || now.Mode() == was.Mode() {
			return err
		}
		return os.Chmod(os.DevNull, was.Mode().Perm())
	}, nil
}

// timed runs a program on the cores of the comparison, and returns the seconds from its start to its end.
func timed(ctx context.Context, cfg config, env []string, line ...string) (float64, error) {
	line = onCores(cfg, line...)
	ctx, cancel := context.WithTimeout(ctx, runMax)
	defer cancel()
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Env = append(os.Environ(), env...)
	begun := time.Now()
	said, err := cmd.CombinedOutput()
	took := time.Since(begun).Seconds()
	if err != nil {
		err = fmt.Errorf("%v: %w: %s", line, err, lastLine(string(said)))
	}
	return took, err
}

func bytesResult(cfg config, test perf.Test, seconds float64) perf.Result {
	return perf.Result{Test: test, Size: int(cfg.pvfsBytes), Window: 1, Median: seconds, P99: seconds, Unit: "s"}
}
