// Command pvfsd is a server of an OrangeFS-compatible parallel file system.
//
// This file is wiring: which methods the binary carries is decided by its blank imports. The
// commands are in internal/cli/pvfsd.
package main

import (
	"context"
	"os"
	"runtime/debug"

	"github.com/viaduct-hpc/viaduct/internal/cli/pvfsd"
	_ "github.com/viaduct-hpc/viaduct/methods/tcp" // tcp, tcps
	_ "github.com/viaduct-hpc/viaduct/methods/via" // via+shm, via+udp
	_ "github.com/viaduct-hpc/viaduct/watch"       // VIADUCT_METRICS
)

// gcPercent is how much the heap may grow, in percent, between two runs of the garbage collector,
// unless GOGC is set. Little of the heap is live, so with the default the collector would run a
// hundred times a second.
const gcPercent = 400

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	app := &pvfsd.App{Out: os.Stdout, Err: os.Stderr}
	os.Exit(app.Main(context.Background(), os.Args[1:]))
}
