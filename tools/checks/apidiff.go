package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// apidiff compares the exported names of two trees of a module.
const (
	apidiff        = "golang.org/x/exp/cmd/apidiff@" + apidiffVersion
	apidiffVersion = "v0.0.0-20261113113407-e3970619a1a4"
)

// againstTag compares what the published packages export with the last tag, and writes what breaks programs. That is an error from
// v1 on. If there is no tag it says so.
func againstTag(ctx context.Context, out io.Writer, root string, pkgs []string) (err error) {
	tag, err := run(ctx, root, "git", "describe", "--tags", "--abbrev=0", "--match", "v[0-9]*")
	if err != nil {
		fmt.Fprintln(out, "api: NOT COMPARED WITH A RELEASE: there is no tag v*; the files in api/ are compared all the same")
		return nil
	}
	tag = strings.TrimSpace(tag)
	work, err := os.MkdirTemp("", "apidiff")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	old, state := filepath.Join(work, "tree"), filepath.Join(work, "state")
	if _, err := run(ctx, root, "git", "clone", "--quiet", "--shared", "--branch", tag, ".", old); err != nil {
		return err
	}
	module, err := run(ctx, root, "go", "list", "-m")
	if err != nil {
		return err
	}
	module = strings.TrimSpace(module)
	if _, err := run(ctx, old, "go", "run", apidiff, "-m", "-w", state, module); err != nil {
		return err
	}
	text, err := run(ctx, root, "go", "run", apidiff, "-m", "-incompatible", state, module)
	if err != nil {
		return err
	}
	broken := 0
	for line := range strings.Lines(text) {
		if ofPackage(line, pkgs) {
			fmt.Fprintf(out, "api: breaks programs for %s: %s\n", tag, strings.TrimSpace(line))
			broken++
		}
	}
	fmt.Fprintf(out, "api: %d incompatible changes since %s\n", broken, tag)
	if broken > 0 && !strings.HasPrefix(tag, "v0.") {
		return fmt.Errorf("api: %s promised what is gone: keep it, or make the next release a new major version", tag)
	}
	return nil
}

// ofPackage reports whether a line of apidiff ("- ./pkg.Name: removed", "- package m/pkg: removed") is about one of the packages.
func ofPackage(line string, pkgs []string) bool {
	for _, pkg := range pkgs {
		if strings.HasPrefix(line, "- ./"+pkg+".") || strings.HasPrefix(line, "- package ") && strings.Contains(line, "/"+pkg+":") {
			return true
		}
	}
	return false
}

// run runs a program in a folder and returns its output.
func run(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("api: %v: %w\n%s", cmd, err, errs.String())
	}
	return string(out), nil
}
