package main

import (
	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/internal/cli"
	"github.com/viaduct-hpc/viaduct/internal/cli/pvfs"
	"github.com/viaduct-hpc/viaduct/internal/cli/pvfsd"
	mpiexec "github.com/viaduct-hpc/viaduct/internal/mpi/launch/command"
	mpibench "github.com/viaduct-hpc/viaduct/internal/mpiperf/command"
)

// A program is one of the commands in cmd.
type program struct {
	name      string // in cmd
	installed string // by packages
	section   string // of the manual
	server    bool   // it belongs to the server's package
	tree      func() *cobra.Command
}

// mpiexecName is the name of mpiexec in packages: mpiexec itself belongs to the MPI that the system has chosen
// (update-alternatives, environment modules).
const mpiexecName = "mpiexec.viaduct"

// programs are all commands. A test compares the list with the folder cmd.
var programs = []program{
	{"bmi", "bmi", "1", false, cli.Command},
	{"bmi-method-tcp", "bmi-method-tcp", "1", false, plugin("bmi-method-tcp", "tcp and tcps")},
	{"bmi-method-via", "bmi-method-via", "1", false, plugin("bmi-method-via", "via+shm and via+udp")},
	{"mpibench", "mpibench", "1", false, mpibench.Command},
	{"mpiexec", mpiexecName, "1", false, mpiexec.Command},
	{"pvfs", "pvfs", "1", false, pvfs.Command},
	{"pvfsd", "pvfsd", "8", true, pvfsd.Command},
}

// plugin describes a plugin, which has no command line.
func plugin(name, methods string) func() *cobra.Command {
	return func() *cobra.Command {
		cmd := &cobra.Command{
			Use:   name,
			Short: "A plugin with the methods " + methods,
			Long: name + ` has the methods ` + methods + ` of Viaduct, for programs that run methods in a process of their own. A program starts it if
the environment variable BMI_PLUGINS names it, or its folder. bmi plugins list shows such plugins, and bmi plugins
check tests one.`,
			CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
			Run:               func(*cobra.Command, []string) {},
		}
		cmd.Flags().Bool("version", false, "print the version of this binary")
		return cmd
	}
}
