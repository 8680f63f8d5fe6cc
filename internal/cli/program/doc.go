// Package program has the parts common to all commands of this module: mistakes in the command
// line (usage.go), the methods that a program carries (methods.go), exit codes and interruption
// (exit.go, main.go), the progress of a long transfer (progress.go), and the commands that all
// programs have (command.go).
//
// The programs themselves are in internal/cli for bmi, internal/cli/pvfs and internal/cli/pvfsd.
package program
