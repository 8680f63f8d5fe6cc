package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/perf"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
)

const (
	rolePVFSIdle = "pvfs-idle"

	// The number of idle clients of a server, and of their processes.
	pvfsIdleClients   = 1000
	pvfsIdleProcesses = 4
	// pvfsIdleSettle is how long they are idle before a server's memory is measured.
	pvfsIdleSettle = 2 * time.Second
)

// pvfsIdle measures the resident bytes of the larger of our servers, with idle clients that use a method.
// Each client has its own endpoint, and has sent a request to all servers.
func pvfsIdle(ctx context.Context, cfg config, method string, into **float64) error {
	fs, err := startOurs(ctx, cfg)
	if err != nil {
		return err
	}
	defer fs.stop()
	source := ourSource(fs, method)
	var children []*perf.Child
	for range pvfsIdleProcesses {
		child, err := perf.StartChild("process of idle clients", perf.SelfCommand(rolePVFSIdle, source, strconv.Itoa(cfg.pvfsIdle/pvfsIdleProcesses)))
		if err != nil {
			return err
		}
		defer child.Kill()
		children = append(children, child)
	}
	for _, child := range children {
		if _, err := child.Answer(); err != nil {
			return fs.explain(err)
		}
	}
	time.Sleep(pvfsIdleSettle)
	most := 0.0
	for _, s := range fs.servers {
		rollup, err := smaps(s.PID())
		if err != nil {
			return err
		}
		most = max(most, rollup["Rss"])
	}
	*into = &most
	return nil
}

// idleClients runs one process of idle clients. Its arguments are the source of the file system and the
// number of clients.
func idleClients(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("want a source and a number, not %q", args)
	}
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	ctx := context.Background()
	var all []*client.FS
	for range n {
		fs, err := client.Mount(ctx, args[0], client.Options{})
		if err != nil {
			return err
		}
		all = append(all, fs)
		for server, err := range fs.Ping(ctx) {
			if err != nil {
				return fmt.Errorf("server %v does not answer: %w", server, err)
			}
		}
	}
	fmt.Println("ok")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
	}
	for _, fs := range all {
		err = errors.Join(err, fs.Close())
	}
	return err
}
