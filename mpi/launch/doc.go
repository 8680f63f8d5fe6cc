// Package launch starts the processes of an MPI job on one machine, serves them PMI-1, hands
// on what goes in and comes out of them, and sees to it that none is left when the job ends,
// however it does.
//
// One goroutine, in run.go, decides everything: what processes do, signals and time-outs
// reach it as events. A process (process.go) is started in a group of its own, which is
// killed when the process ends; what it writes is handed on line by line (output.go). If this
// program is killed, the kernel kills its processes, and a guard (guard.go) what they had
// started.
//
// What PMI says is in package pmi and below it; the command line is package command's.
package launch
