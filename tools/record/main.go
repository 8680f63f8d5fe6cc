// Command record runs the commands of a page of the documentation in a terminal and draws what it shows:
//
//	record docs/guides/terminal.md docs/guides/terminal.svg
//
// The page's blocks ```console run are those that the test of internal/docs runs, in a session of the same
// kind. pty.go makes the terminal, screen.go reads what is written to it, svg.go draws.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/viaduct-hpc/viaduct/internal/docs"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "record: give a page and a file for the picture: record docs/guides/terminal.md docs/guides/terminal.svg")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

// run records a page, from the root of the module.
func run(ctx context.Context, page, picture string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	blocks, problems := docs.Parse(page, string(text))
	if len(problems) > 0 {
		return fmt.Errorf("%v", problems[0])
	}
	work, err := os.MkdirTemp("", "record-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }() // what is left is in the folder for temporary files
	session, err := prepare(ctx, page, work)
	if err != nil {
		return err
	}
	lines, err := record(ctx, session, docs.Script(blocks, func(docs.Block) string { return "" }), commands(blocks))
	if err != nil {
		return err
	}
	return os.WriteFile(picture, draw(lines), 0o644)
}

// prepare builds the programs and makes the folder of a session.
func prepare(ctx context.Context, page, work string) (*docs.Session, error) {
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	s := &docs.Session{Page: page, Root: root, Bin: filepath.Join(work, "bin"), Work: filepath.Join(work, "s")}
	for _, dir := range []string{s.Bin, s.Work} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, err
		}
	}
	build := exec.CommandContext(ctx, "go", "build", "-pgo=off", "-o", s.Bin+"/", "./cmd/...", "./examples/mpi/heat")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%v: %w\n%s", build, err, out)
	}
	return s, nil
}

// commands returns the commands of a page by their line.
func commands(blocks []docs.Block) map[string]string {
	all := make(map[string]string)
	for _, b := range blocks {
		for i, line := range b.Text {
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				all[fmt.Sprint(b.Line+1+i)] = command
			}
		}
	}
	return all
}
