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
	flag.Parse()
	if err := run(*profile, *lines, *least); err != nil {
		fmt.Fprintln(os.Stderr, "steps:", err)
		os.Exit(1)
	}
}

func run(profile string, lines bool, least float64) error {
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
	phases, err := trace(program, lines)
	for _, p := range phases {
		p.print(os.Stdout, least)
	}
	return err
}
