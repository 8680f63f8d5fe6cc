package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// licencesOf collects the licences of all modules that are linked into the programs in some folders, and that of Go. Most
// of them demand to be handed on with a binary. tree has the module that the programs come from.
func licencesOf(ctx context.Context, tree string, bins []string) ([]byte, error) {
	modules, err := linked(bins)
	if err != nil {
		return nil, err
	}
	dirs, err := moduleDirs(ctx, tree, modules)
	if err != nil {
		return nil, err
	}
	goroot, version, err := goOf(ctx, tree)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString("The programs of Viaduct contain code of Go's standard library and of the modules below, under these licences.\n")
	dirs = append([]moduleDir{{Path: "Go's standard library", Version: version, Dir: goroot}}, dirs...)
	for _, m := range dirs {
		names, err := licenceFiles(m.Dir)
		if err != nil {
			return nil, err
		}
		if len(names) == 0 {
			return nil, fmt.Errorf("%s has no file with a licence", m.Path)
		}
		for _, name := range names {
			text, err := os.ReadFile(filepath.Join(m.Dir, name))
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(&b, "\n%s\n%s %s: %s\n\n%s\n", strings.Repeat("=", 80), m.Path, m.Version, name, bytes.TrimSpace(text))
		}
	}
	return b.Bytes(), nil
}

// goOf is the folder and the version of the Go that builds a tree.
func goOf(ctx context.Context, tree string) (dir, version string, err error) {
	cmd := exec.CommandContext(ctx, "go", "env", "GOROOT", "GOVERSION")
	cmd.Dir = tree
	text, err := output(cmd)
	dir, version, _ = strings.Cut(strings.TrimSpace(text), "\n")
	return dir, version, err
}

// linked are the modules that the programs in some folders contain, sorted.
func linked(bins []string) ([]string, error) {
	var modules []string
	for _, bin := range bins {
		names, err := fileNames(bin)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			info, err := buildinfo.ReadFile(filepath.Join(bin, name))
			if err != nil {
				return nil, err
			}
			for _, m := range info.Deps {
				modules = append(modules, m.Path)
			}
		}
	}
	slices.Sort(modules)
	return slices.Compact(modules), nil
}

// A moduleDir is what go list says about a module.
type moduleDir struct{ Path, Version, Dir string }

func moduleDirs(ctx context.Context, tree string, modules []string) ([]moduleDir, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"list", "-m", "-json=Path,Version,Dir"}, modules...)...)
	cmd.Dir = tree
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	text, err := output(cmd)
	if err != nil {
		return nil, err
	}
	var dirs []moduleDir
	for in := json.NewDecoder(strings.NewReader(text)); ; {
		var m moduleDir
		switch err := in.Decode(&m); {
		case errors.Is(err, io.EOF):
			return dirs, nil
		case err != nil:
			return nil, err
		}
		dirs = append(dirs, m)
	}
}

// licenceFiles are the names of the files with licences in a folder, sorted.
func licenceFiles(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		upper := strings.ToUpper(e.Name())
		for _, word := range []string{"LICENSE", "LICENCE", "COPYING", "NOTICE", "PATENTS"} {
			if e.Type().IsRegular() && strings.HasPrefix(upper, word) {
				names = append(names, e.Name())
				break
			}
		}
	}
	return names, nil
}
