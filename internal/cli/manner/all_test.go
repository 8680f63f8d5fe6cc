package manner

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/internal/cli"
	"github.com/viaduct-hpc/viaduct/internal/cli/pvfs"
	"github.com/viaduct-hpc/viaduct/internal/cli/pvfsd"
	mpiexec "github.com/viaduct-hpc/viaduct/internal/mpi/launch/command"
	mpibench "github.com/viaduct-hpc/viaduct/internal/mpiperf/command"
)

// programs are all programs with commands.
func programs() []*cobra.Command {
	return []*cobra.Command{cli.Command(), pvfs.Command(), pvfsd.Command(), mpiexec.Command(), mpibench.Command()}
}

// programOf is the program of a name; nil if it is none of ours.
func programOf(name string) *cobra.Command {
	all := programs()
	if i := slices.IndexFunc(all, func(c *cobra.Command) bool { return c.Name() == name }); i >= 0 {
		return all[i]
	}
	return nil
}

// commands are all commands that users can run, programs included.
func commands() (all []*cobra.Command) {
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		if cmd.Hidden || cmd.Name() == "completion" || cmd.Name() == "help" {
			return
		}
		all = append(all, cmd)
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	for _, p := range programs() {
		walk(p)
	}
	return all
}
