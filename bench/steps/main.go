//go:build linux && amd64

package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

func main() {
	lines := flag.Bool("lines", false, "count line by line")
	least := flag.Float64("least", 2, "leave out what takes fewer instructions per message")
	profile := flag.String("pgo", "cmd/mpibench/default.pgo", "the profile to compile with; off: none")
	mpi := flag.String("mpi", "", "count another MPI instead: openmpi or mpich")
	rank := flag.Bool("trace", false, "trace the program in the arguments, as one rank of a job of another MPI; -mpi starts it")
	flag.Parse()
	var err error
	switch {
	case *rank && flag.NArg() > 0:
		err = traceRank(flag.Args(), *least)
	case flag.NArg() > 0:
		err = fmt.Errorf("no arguments are expected, but %q", flag.Args())
	case *mpi != "":
		err = countMPI(*mpi, *least)
	default:
		err = countOurs(*profile, *lines, *least)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "steps:", err)
		os.Exit(1)
	}
}

// countOurs counts bench/steps/traced.
func countOurs(profile string, lines bool, least float64) error {
	dir, err := os.MkdirTemp("", "steps")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "traced")
	build := exec.Command("go", "build", "-pgo="+profile, "-o", program, "./bench/steps/traced")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("go build, to be run in the top folder of the module: %w", err)
	}
	phases, err := traceOurs(program, lines)
	for _, p := range phases {
		p.print(os.Stdout, least)
	}
	return err
}

// traceOurs traces a program in Go.
func traceOurs(program string, lines bool) ([]*phase, error) {
	names, err := goNamesOf(program, lines)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program)
	// Neither the collector nor the scheduler comes in between.
	cmd.Env = append(os.Environ(), "GOGC=off", "GODEBUG=asyncpreemptoff=1")
	return trace(cmd, names, func(int) {})
}
