// Command collectives simulates collective operations on machines with up to 100,000 ranks and
// prints a section for docs/performance/results.md:
//
//	go run ./bench/collectives                                          # print it
//	go run ./bench/collectives -into docs/performance/results.md        # put it there
//	go run ./bench/collectives -crossings                               # where hierarchical algorithms pay
//
// It takes about 15 seconds and 300 MB; the times in it are virtual, and the same on any machine. Package
// scale has the network and the operations; package internal/mpi/collsim simulates.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/viaduct-hpc/viaduct/bench/internal/scale"
)

func main() {
	into := flag.String("into", "", "replace the section of this file, and print nothing")
	crossings := flag.Bool("crossings", false, "print how much faster hierarchical algorithms are than the others, by size")
	flag.Parse()
	if err := run(*into, *crossings); err != nil {
		fmt.Fprintln(os.Stderr, "collectives:", err)
		os.Exit(1)
	}
}

func run(into string, crossings bool) error {
	if crossings {
		return scale.Crossings(os.Stdout)
	}
	section, err := scale.Section()
	if err != nil {
		return err
	}
	if into == "" {
		fmt.Print(section)
		return nil
	}
	text, err := os.ReadFile(into)
	if err != nil {
		return err
	}
	return os.WriteFile(into, []byte(scale.Replace(string(text), section)), 0o644)
}
