// Package program is what the commands of this module have in common, whatever they are about:
// which mistakes are those of the command line (usage.go), which methods a program carries
// (methods.go), how it ends (exit.go, main.go), that a long transfer moves (progress.go), and
// the commands that all of them have (command.go).
//
// What a command does is elsewhere: internal/cli for bmi, internal/cli/pvfs, internal/cli/pvfsd.
package program
