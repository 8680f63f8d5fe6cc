// Command mpibench measures package mpi, with its files and one-sided operations, under mpiexec:
//
//	mpiexec -n 2 mpibench latency
//
// This file is wiring: its blank imports decide which methods the binary contains. The command line
// is in internal/mpiperf/command, the measurements are in internal/mpiperf.
package main

import (
	"context"
	"os"

	"github.com/viaduct-hpc/viaduct/internal/mpiperf/command"
	_ "github.com/viaduct-hpc/viaduct/methods/tcp" // tcp, tcps
	_ "github.com/viaduct-hpc/viaduct/methods/via" // via+shm, via+udp
	_ "github.com/viaduct-hpc/viaduct/plugins"     // what BMI_PLUGINS names
	_ "github.com/viaduct-hpc/viaduct/watch"       // VIADUCT_METRICS
)

func main() {
	app := &command.App{Out: os.Stdout, Err: os.Stderr}
	os.Exit(app.Main(context.Background(), os.Args[1:]))
}
