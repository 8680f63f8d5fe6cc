package main

import (
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// A plan says what to make.
type plan struct {
	source string // repository
	out    string
	arches []string
	quick  bool
}

// A release is the built commit, as the go command stamped it into the binaries.
type release struct {
	version string    // v0.3.0
	commit  string    // in hex
	time    time.Time // of the commit
}

// run carries out the plan. It returns the names of the files in out.
func (p *plan) run(ctx context.Context) ([]string, error) {
	work, err := os.MkdirTemp("", "viaduct-dist-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	tree := filepath.Join(work, "tree")
	if err := checkout(ctx, p.source, tree); err != nil {
		return nil, err
	}
	bins := filepath.Join(work, "bin")
	for _, arch := range p.arches {
		if err := compile(ctx, tree, arch, filepath.Join(bins, arch), p.quick); err != nil {
			return nil, err
		}
	}
	rel, err := stamped(filepath.Join(bins, p.arches[0], "pvfsd"))
	if err != nil {
		return nil, err
	}
	return pack(ctx, rel, tree, bins, p.arches, p.out)
}

// pack makes archives, packages and images of compiled programs. tree has their sources, and bins a folder of programs for
// each processor.
func pack(ctx context.Context, rel release, tree, bins string, arches []string, out string) ([]string, error) {
	if err := os.RemoveAll(out); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, err
	}
	docs, err := writeDocs(rel)
	if err != nil {
		return nil, err
	}
	var folders []string
	for _, arch := range arches {
		folders = append(folders, filepath.Join(bins, arch))
	}
	licences, err := licencesOf(ctx, tree, folders)
	if err != nil {
		return nil, err
	}
	changes, err := os.ReadFile(filepath.Join(tree, "CHANGELOG.md"))
	if err != nil {
		return nil, err
	}
	licence, err := os.ReadFile(filepath.Join(tree, "LICENSE"))
	if err != nil {
		return nil, err
	}
	s := &stock{rel: rel, docs: docs, thirdParty: licences, changes: changes, licence: licence}
	var images imageSets
	for _, arch := range arches {
		s.arch, s.bin = arch, filepath.Join(bins, arch)
		if err := writeArchive(s, out); err != nil {
			return nil, err
		}
		for _, b := range s.bundles() {
			if err := writePackages(s, b, out); err != nil {
				return nil, err
			}
		}
		if err := images.add(s, out); err != nil {
			return nil, err
		}
	}
	if err := images.write(rel, out); err != nil {
		return nil, err
	}
	return sum(out)
}

// checkout makes a clean copy of the commit HEAD of a repository, with its tags. A linked worktree would not do: the go
// command finds no version there.
func checkout(ctx context.Context, repository, into string) error {
	if _, err := git(ctx, "", "clone", "--quiet", "--shared", repository, into); err != nil {
		return err
	}
	want, err := git(ctx, repository, "rev-parse", "HEAD")
	if err != nil {
		return err
	}
	if _, err := git(ctx, into, "checkout", "--quiet", "--detach", strings.TrimSpace(want)); err != nil {
		return err
	}
	changed, err := git(ctx, repository, "status", "--porcelain")
	if err == nil && changed != "" {
		fmt.Fprintln(os.Stderr, "dist: the tree has changes that are not committed, and they are left out")
	}
	return err
}

func git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	return output(cmd)
}

// output runs a command, whose error output becomes part of the error.
func output(cmd *exec.Cmd) (string, error) {
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%w\n%s", err, exit.Stderr)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", strings.Join(cmd.Args, " "), err)
	}
	return string(out), nil
}

// compile builds all commands of a tree for a processor.
func compile(ctx context.Context, tree, arch, into string, quick bool) error {
	args := []string{"build", "-trimpath", "-buildvcs=true", "-ldflags=-s", "-o", into + "/"}
	if quick {
		args = append(args, "-pgo=off")
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "./cmd/...")...)
	cmd.Dir = tree
	cmd.Env = append(os.Environ(), environment(arch)...)
	_, err := output(cmd)
	return err
}

// environment has the variables that change what the go command builds.
func environment(arch string) []string {
	return []string{
		"CGO_ENABLED=0", "GOOS=linux", "GOARCH=" + arch, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=-mod=readonly", "GOWORK=off",
		"GOEXPERIMENT=", "GOFIPS140=off",
	}
}

// stamped reads what the go command stamped into a binary.
func stamped(binary string) (release, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return release{}, err
	}
	setting := func(key string) string {
		for _, s := range info.Settings {
			if s.Key == key {
				return s.Value
			}
		}
		return ""
	}
	rel := release{version: info.Main.Version, commit: setting("vcs.revision")}
	if !strings.HasPrefix(rel.version, "v") || rel.commit == "" {
		return release{}, fmt.Errorf("%s has no version of a commit: it was built outside a repository, or the go command could not run git", binary)
	}
	rel.time, err = time.Parse(time.RFC3339, setting("vcs.time"))
	return rel, err
}

// plain is the version without its v.
func (r release) plain() string { return strings.TrimPrefix(r.version, "v") }

// fileNames are the names in a folder, sorted.
func fileNames(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, nil
}
