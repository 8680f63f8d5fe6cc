// Package launch starts the processes of an MPI job, serves PMI-1 to them, passes on
// their input and output, and makes sure that no process is left when the job ends, however it
// ends.
//
// One goroutine, in run.go, makes all decisions. The actions of processes, signals and timeouts
// reach it as events. Each process (process.go) has a process group of its own, which is killed
// when the process ends. Its output is passed on line by line (output.go). If this program is
// killed, the kernel kills its processes, and a guard (guard.go) kills the processes that they had
// started.
//
// On several hosts, agents (agent.go) start and serve the processes: this program once more, started by
// ssh or the like, in a tree (branch.go, link.go; what a node of it does is in package tree). The one
// goroutine still makes all decisions (fleet.go); an agent decides nothing but to end its processes
// when its parent is gone. Package hosts finds the hosts and places ranks.
//
// PMI is in package pmi and below it; the command line is in package command.
package launch
