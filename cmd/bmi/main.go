// Command bmi inspects, measures and uses the methods of Viaduct.
//
// This file is wiring: which methods the binary carries is decided by its blank
// imports. The commands are in internal/cli.
package main

import (
	"context"
	"os"

	"golang.org/x/term"

	"github.com/viaduct-hpc/viaduct/internal/cli"
	_ "github.com/viaduct-hpc/viaduct/methods/tcp" // tcp, tcps
	_ "github.com/viaduct-hpc/viaduct/methods/via" // via+shm
	_ "github.com/viaduct-hpc/viaduct/watch"       // VIADUCT_METRICS
)

func main() {
	app := &cli.App{
		In:       os.Stdin,
		Out:      os.Stdout,
		Err:      os.Stderr,
		Terminal: term.IsTerminal(int(os.Stderr.Fd())),
	}
	os.Exit(app.Main(context.Background(), os.Args[1:]))
}
