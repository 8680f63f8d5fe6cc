// Package pmi is how a process finds the launcher that started it: boot.Boot over PMI-1, as
// mpiexec (ours and Hydra's) has it, and over PMI-2, as Slurm's srun --mpi=pmi2 has it.
// FromEnvironment chooses.
//
// What is said is in package wire, the launcher's side in package server. Starting processes
// is package launch's business.
package pmi
