package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

func main() {
	if err := run(os.Stdin, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "plot:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, args []string) error {
	if len(args) != 1 {
		return errors.New("give the folder for the charts: plot FOLDER < charts.json")
	}
	all, err := readCharts(in)
	if err != nil {
		return err
	}
	for _, c := range all {
		if err := c.save(filepath.Join(args[0], c.File)); err != nil {
			return fmt.Errorf("%s: %w", c.File, err)
		}
	}
	return nil
}
