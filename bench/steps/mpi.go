//go:build linux && amd64

package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// An mpiLibrary is one whose messages can be counted as well.
type mpiLibrary struct {
	compiler string
	launcher []string
}

var mpiLibraries = map[string]mpiLibrary{
	"openmpi": {"mpicc.openmpi", []string{"mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-np", "2"}},
	"mpich":   {"mpicc.mpich", []string{"mpiexec.mpich", "-np", "2"}},
}

// countMPI counts bench/peers/steps.c. Each rank of the job is this command again, which traces
// one rank of the program.
func countMPI(name string, least float64) error {
	m, ok := mpiLibraries[name]
	if !ok {
		return fmt.Errorf("-mpi %s: give openmpi or mpich", name)
	}
	for _, command := range []string{m.compiler, m.launcher[0]} {
		if _, err := exec.LookPath(command); err != nil {
			return fmt.Errorf("%s is not installed: %w", name, err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "steps")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "peer")
	build := exec.Command(m.compiler, "-O2", "-o", program, filepath.Join("bench", "peers", "steps.c"))
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("%s, to be run in the top folder of the module: %w", m.compiler, err)
	}
	job := exec.Command(m.launcher[0], append(m.launcher[1:], self, "-least", fmt.Sprint(least), "-trace", program, filepath.Join(dir, "turns"))...)
	job.Stdout, job.Stderr = os.Stdout, os.Stderr
	return job.Run()
}

// traceRank traces one rank of a program that uses an MPI, and prints what it did.
func traceRank(args []string, least float64) error {
	libraries := new(libraryNames)
	phases, err := trace(exec.Command(args[0], args[1:]...), libraries, func(pid int) { libraries.pid = pid })
	var all bytes.Buffer // written at once: the other rank writes, too
	for _, p := range phases {
		p.print(&all, least)
	}
	_, werr := all.WriteTo(os.Stdout)
	return cmp.Or(err, werr)
}
