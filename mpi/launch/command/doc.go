// Package command is the substance of the mpiexec command: it takes the command line to
// pieces, has package launch run the job, and says what went wrong.
package command
