// Package command implements the mpiexec command: it parses the command line, runs the job with
// package launch, and reports errors.
package command
