// Package program is the kit of all commands of this module: options that are spelt and typed alike (flags.go, schema.go, log.go),
// tables for people that are JSON for programs (table.go, cell.go), help in groups (help.go), colours (colour.go), mistakes in the
// command line (usage.go, flagerror.go, near.go), environment variables (environ.go), the methods that a program carries
// (methods.go), exit codes and interruption (exit.go, main.go), the progress of a long transfer (progress.go), and the commands
// that all programs have (command.go).
//
// A new command has an Example and is added by CommandGroup. Its options come from the functions of flags.go where one fits. If it
// prints a table, it has a struct for a row, calls JSONFlag with it, and prints by NewTable; tests in internal/cli/manner fail
// otherwise, and write docs/reference/json.md with -update.
//
// The programs themselves are in internal/cli for bmi, in internal/cli/pvfs and internal/cli/pvfsd, in internal/mpi/launch/command for
// mpiexec, and in internal/mpiperf/command for mpibench.
package program
