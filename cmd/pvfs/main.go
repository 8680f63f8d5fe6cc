// Command pvfs works with the files of a parallel file system.
//
// This file is wiring: which methods the binary carries is decided by its blank imports. The
// commands are in internal/cli/pvfs.
package main

import (
	"context"
	"os"

	"golang.org/x/term"

	"github.com/viaduct-hpc/viaduct/internal/cli/pvfs"
	_ "github.com/viaduct-hpc/viaduct/methods/tcp" // tcp, tcps
	_ "github.com/viaduct-hpc/viaduct/methods/via" // via+shm, via+udp
	_ "github.com/viaduct-hpc/viaduct/watch"       // VIADUCT_METRICS
)

func main() {
	app := &pvfs.App{
		In:       os.Stdin,
		Out:      os.Stdout,
		Err:      os.Stderr,
		Terminal: term.IsTerminal(int(os.Stderr.Fd())),
	}
	os.Exit(app.Main(context.Background(), pvfs.Arguments(os.Args)))
}
