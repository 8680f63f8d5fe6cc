// Package pmi is the connection of a process to the launcher that started it. It implements
// boot.Boot over PMI-1, which our mpiexec and Hydra use, and over PMI-2, which Slurm's srun
// --mpi=pmi2 uses. FromEnvironment chooses.
//
// The messages are in package wire, the launcher's side is in package server, and package launch
// starts processes.
package pmi
