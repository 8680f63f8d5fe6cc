package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/perf"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
)

const roleNames = "pvfs-names"

// measureNames makes one client, and then many, create, stat and remove files in one directory. The stat is
// by another client than the create, so that no client's cache has the files.
func measureNames(ctx context.Context, cfg config, fs *fileSystem, kind clientKind) ([]perf.Result, error) {
	var all []perf.Result
	for _, clients := range []int{1, pvfsCrowd} {
		files := pvfsFiles
		if clients == 1 {
			files = pvfsFilesAlone
		}
		files = max(files/cfg.pvfsLess, 1)
		makers, err := startNames(cfg, fs, kind, clients)
		if err != nil {
			return nil, err
		}
		defer makers.end()
		others, err := startNames(cfg, fs, kind, clients)
		if err != nil {
			return nil, err
		}
		defer others.end()
		for _, act := range pvfsActs {
			method := makers
			if act == "stat" {
				method = others
			}
			took, err := method.all(act, files)
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return nil, err
			}
			rate := float64(clients*files) / took
			all = append(all, perf.Result{Test: namesTest(act, clients), Window: clients, Median: rate, P99: rate, Unit: "operations/s"})
		}
	}
	return all, nil
}

// A namesCrowd are clients that take commands.
type namesCrowd []*perf.Child

func startNames(cfg config, fs *fileSystem, kind clientKind, n int) (crowd namesCrowd, err error) {
	defer func() {
		if err != nil {
			crowd.end()
		}
	}()
	for i := range n {
		child, err := perf.StartChild("client of the file system", onCores(cfg, kind.names(fs, fmt.Sprintf("c%d-%d-", n, i))...))
		if err != nil {
			return crowd, err
		}
		crowd = append(crowd, child)
	}
	for _, c := range crowd {
		if _, err := c.Answer(); err != nil {
			return crowd, err
		}
	}
	return crowd, nil
}

// all makes all of them act, and returns the seconds until the last has finished.
func (c namesCrowd) all(act string, files int) (float64, error) {
	begun := time.Now()
	for _, child := range c {
		if err := child.Tell("%s %d", act, files); err != nil {
			return 0, err
		}
	}
	for _, child := range c {
		if _, err := child.Answer(); err != nil {
			return 0, err
		}
	}
	return time.Since(begun).Seconds(), nil
}

func (c namesCrowd) end() {
	for _, child := range c {
		child.Kill() // it has nothing to clean up
	}
}

// namesOf runs one of our clients; peers/pvfs.c does the same with libpvfs2. Its arguments are the source
// of the file system and the prefix of its files.
func namesOf(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("want a source and a prefix, not %q", args)
	}
	ctx := context.Background()
	fs, err := client.Mount(ctx, args[0], client.Options{})
	if err != nil {
		return err
	}
	acts := map[string]func(name string) error{
		"create": func(name string) error {
			f, err := fs.OpenFile(ctx, name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
			if err != nil {
				return err
			}
			return f.Close()
		},
		"stat":   func(name string) error { _, err := fs.StatCtx(ctx, name); return err },
		"remove": func(name string) error { return fs.Remove(ctx, name) },
	}
	fmt.Println("ok")
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var word string
		var n int
		if _, err := fmt.Sscan(lines.Text(), &word, &n); err != nil || acts[word] == nil {
			return fmt.Errorf("bad order %q", lines.Text())
		}
		for i := range n {
			if err := acts[word](fmt.Sprintf("/%s%d", args[1], i)); err != nil {
				return err
			}
		}
		fmt.Println("ok")
	}
	return errors.Join(lines.Err(), fs.Close())
}
