// Command mpiexec starts the processes of an MPI program, on this machine or on several hosts.
//
// This file is wiring: the command line is in mpi/launch/command, the launcher in mpi/launch.
package main

import (
	"context"
	"os"

	"github.com/viaduct-hpc/viaduct/mpi/launch"
	"github.com/viaduct-hpc/viaduct/mpi/launch/command"
)

func main() {
	launch.BecomeGuard()
	launch.BecomeAgent()
	os.Exit(command.Main(context.Background(), os.Args[1:]))
}
