// Package hosts finds out on which hosts a job runs, and puts its ranks there: lists on the command
// line and in files, the allocations of Slurm, PBS, LSF, Grid Engine and Cobalt, and the ways of
// placing ranks. It reads no environment and no files itself.
package hosts
