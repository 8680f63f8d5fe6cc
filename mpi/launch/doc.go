// Package launch starts the processes of an MPI job on one machine, serves PMI-1 to them, passes on
// their input and output, and makes sure that no process is left when the job ends, however it
// ends.
//
// One goroutine, in run.go, makes all decisions. The actions of processes, signals and timeouts
// reach it as events. Each process (process.go) has a process group of its own, which is killed
// when the process ends. Its output is passed on line by line (output.go). If this program is
// killed, the kernel kills its processes, and a guard (guard.go) kills the processes that they had
// started.
//
// PMI is in package pmi and below it; the command line is in package command.
package launch
