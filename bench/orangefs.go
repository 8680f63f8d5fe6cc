package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

const (
	orangefsVariable = "ORANGEFS_PREFIX"
	// stockMount is the mount point in the table of stock clients.
	stockMount = "/viaduct-bench"
	// stockPause is the pause before its servers are asked again whether they are ready.
	stockPause = 100 * time.Millisecond
)

// stock is an installation of OrangeFS.
type stock struct {
	prefix string
	names  string // our program of peers/pvfs.c, built against its library
}

// findStock finds an installation and builds our program, or returns the reason why not.
func findStock(ctx context.Context, cfg config) (s stock, why string) {
	if s.prefix = os.Getenv(orangefsVariable); s.prefix == "" {
		return s, "not installed: set " + orangefsVariable + " (docs/guides/orangefs.md)"
	}
	for _, program := range []string{"bin/pvfs2-cp", "bin/pvfs2-touch", "sbin/pvfs2-server", "lib/libpvfs2.a"} {
		if _, err := os.Stat(filepath.Join(s.prefix, program)); err != nil {
			return s, fmt.Sprintf("not installed: no %s in %s", program, orangefsVariable)
		}
	}
	var err error
	if s.names, err = filepath.Abs(filepath.Join(cfg.work, "pvfs-names")); err == nil {
		_, err = command(ctx, nil, "cc", "-O2", "-w", "-I"+filepath.Join(s.prefix, "include"), "-o", s.names, "bench/peers/pvfs.c",
			filepath.Join(s.prefix, "lib/libpvfs2.a"), "-lssl", "-lcrypto", "-lpthread", "-ldl", "-lm", "-lz")
	}
	if err != nil {
		return s, fmt.Sprintf("does not compile: %v", err)
	}
	return s, ""
}

// start starts its servers, and waits until they have precreated the objects that they request
// from each other at first.
func (s stock) start(ctx context.Context, cfg config) (*fileSystem, error) {
	server := filepath.Join(s.prefix, "sbin/pvfs2-server")
	fs, err := startServers(cfg, false, func(_ *fileSystem, conf, alias string) ([]string, error) {
		_, err := command(ctx, s.env(nil), server, "-f", conf, "-a", alias) // makes the storage
		return []string{"env", s.libraries(), server, "-d", conf, "-a", alias}, err
	})
	if err != nil {
		return nil, err
	}
	until := time.Now().Add(pvfsReadyMax)
	for made := 0; made < 2*pvfsServerCount; { // files go to the servers in turn
		_, err := command(ctx, s.env(fs), filepath.Join(s.prefix, "bin/pvfs2-touch"), fmt.Sprintf("%s/warm%d", stockMount, made))
		if err == nil {
			made++
			continue
		}
		// A server that has no objects of the other server yet refuses.
		if ctx.Err() != nil || time.Now().After(until) {
			err = fs.explain(err)
			fs.stop()
			return nil, err
		}
		time.Sleep(stockPause)
	}
	return fs, nil
}

func (s stock) libraries() string { return "LD_LIBRARY_PATH=" + filepath.Join(s.prefix, "lib") }

func (s stock) env(fs *fileSystem) []string {
	if fs == nil {
		return []string{s.libraries()}
	}
	return []string{s.libraries(), "PVFS2TAB_FILE=" + fs.table()}
}

// client is the client of that installation.
func (s stock) client() clientKind {
	cp := filepath.Join(s.prefix, "bin/pvfs2-cp")
	return clientKind{
		in:  func(_ *fileSystem, local, name string) []string { return []string{cp, local, stockMount + "/" + name} },
		out: func(_ *fileSystem, local, name string) []string { return []string{cp, stockMount + "/" + name, local} },
		names: func(fs *fileSystem, prefix string) []string {
			return append(append([]string{"env"}, s.env(fs)...), s.names, stockMount, prefix)
		},
		env: s.env,
	}
}
