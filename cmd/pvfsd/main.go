// Command pvfsd is a server of an OrangeFS-compatible parallel file system.
//
// This file is wiring: which methods the binary carries is decided by its blank imports. The
// commands are in internal/cli/pvfsd.
package main

import (
	"context"
	"os"

	"github.com/viaduct-hpc/viaduct/internal/cli/pvfsd"
	_ "github.com/viaduct-hpc/viaduct/methods/tcp" // tcp, tcps
	_ "github.com/viaduct-hpc/viaduct/methods/via" // via+shm, via+udp
)

func main() {
	app := &pvfsd.App{Out: os.Stdout, Err: os.Stderr}
	os.Exit(app.Main(context.Background(), os.Args[1:]))
}
