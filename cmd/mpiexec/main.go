// Command mpiexec starts the processes of an MPI program, on this machine or on several hosts.
//
// This file is wiring: the command line is in internal/mpi/launch/command, the launcher in internal/mpi/launch.
package main

import (
	"context"
	"os"

	"github.com/viaduct-hpc/viaduct/internal/mpi/launch"
	"github.com/viaduct-hpc/viaduct/internal/mpi/launch/command"
)

func main() {
	launch.BecomeGuard()
	launch.BecomeAgent()
	os.Exit(command.Main(context.Background(), os.Args[1:]))
}
