package main

import (
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A plan says what to make.
type plan struct {
	source string // repository
	out    string
	arches []string // some of processors
	quick  bool
	log    io.Writer        // what is being made
	now    func() time.Time // nil: time.Now
}

// processors are those that Viaduct runs on, as Go names them.
var processors = []string{"amd64", "arm64"}

// Steps besides the programs.
const (
	stepsOnce    = 4 // the commit, pages and licences, images of all processors, sums
	stepsForArch = 3 // the archive, packages, images
)

// check refuses a plan that cannot be carried out.
func (p *plan) check() error {
	if len(p.arches) == 0 {
		return fmt.Errorf("--arch: name a processor: %s", strings.Join(processors, ", "))
	}
	for i, arch := range p.arches {
		if !slices.Contains(processors, arch) {
			return fmt.Errorf("--arch %s: Viaduct runs on %s", arch, strings.Join(processors, ", "))
		}
		if slices.Contains(p.arches[:i], arch) {
			return fmt.Errorf("--arch %s: it is named twice", arch)
		}
	}
	return nil
}

// announce says what will be made.
func (p *plan) announce() *progress {
	profiles := "with profile-guided optimisation"
	if p.quick {
		profiles = "without profile-guided optimisation"
	}
	bundles := len((&stock{docs: &docs{}}).bundles())
	fmt.Fprintf(p.log, "dist: %d programs for %s, %s\n", len(programs), strings.Join(p.arches, " and "), profiles)
	fmt.Fprintf(p.log, "dist: for each processor an archive, %d packages as %s, and %d images; then %d images for all processors, and SHA256SUMS\n",
		bundles, strings.Join(formats, " and "), len(containerImages), len(containerImages))
	return &progress{out: p.log, now: p.now, steps: stepsOnce + len(p.arches)*(len(programs)+stepsForArch)}
}

// A release is the built commit, as the go command stamped it into the binaries.
type release struct {
	version string    // v0.3.0
	commit  string    // in hex
	time    time.Time // of the commit
}

// run carries out the plan. It returns the names of the files in out.
func (p *plan) run(ctx context.Context) ([]string, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	if p.now == nil {
		p.now = time.Now
	}
	steps := p.announce()
	work, err := os.MkdirTemp("", "viaduct-dist-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	tree := filepath.Join(work, "tree")
	if err := steps.step("take the commit", func() error { return checkout(ctx, p.source, tree, p.log) }); err != nil {
		return nil, err
	}
	bins := filepath.Join(work, "bin")
	for _, arch := range p.arches {
		for _, one := range programs {
			err := steps.step("compile "+one.name+" for "+arch, func() error {
				return compile(ctx, tree, one.name, arch, filepath.Join(bins, arch), p.quick)
			})
			if err != nil {
				return nil, err
			}
		}
	}
	rel, err := stamped(filepath.Join(bins, p.arches[0], "pvfsd"))
	if err != nil {
		return nil, err
	}
	return pack(ctx, rel, tree, bins, p.arches, p.out, steps)
}

// pack makes archives, packages and images of compiled programs. tree has their sources, and bins a folder of programs for
// each processor.
func pack(ctx context.Context, rel release, tree, bins string, arches []string, out string, steps *progress) (names []string, err error) {
	if err := os.RemoveAll(out); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, err
	}
	s := &stock{rel: rel}
	if err := steps.step("manual pages, completions and licences", func() error { return s.fill(ctx, tree, bins, arches) }); err != nil {
		return nil, err
	}
	var images imageSets
	for _, arch := range arches {
		s.arch, s.bin = arch, filepath.Join(bins, arch)
		for _, one := range []struct {
			what  string
			write func() error
		}{
			{"archive", func() error { return writeArchive(s, out) }},
			{"packages", func() error {
				for _, b := range s.bundles() {
					if err := writePackages(s, b, out); err != nil {
						return err
					}
				}
				return nil
			}},
			{"images", func() error { return images.add(s, out) }},
		} {
			if err := steps.step(one.what+" for "+arch, one.write); err != nil {
				return nil, err
			}
		}
	}
	if err := steps.step("images for all processors", func() error { return images.write(rel, out) }); err != nil {
		return nil, err
	}
	err = steps.step("SHA256SUMS", func() error {
		names, err = sum(out)
		return err
	})
	return names, err
}

// fill reads and makes what the packages of all processors have in common.
func (s *stock) fill(ctx context.Context, tree, bins string, arches []string) (err error) {
	if s.docs, err = writeDocs(s.rel); err != nil {
		return err
	}
	var folders []string
	for _, arch := range arches {
		folders = append(folders, filepath.Join(bins, arch))
	}
	if s.thirdParty, err = licencesOf(ctx, tree, folders); err != nil {
		return err
	}
	if s.changes, err = os.ReadFile(filepath.Join(tree, "CHANGELOG.md")); err != nil {
		return err
	}
	s.licence, err = os.ReadFile(filepath.Join(tree, "LICENSE"))
	return err
}

// checkout makes a clean copy of the commit HEAD of a repository, with its tags. A linked worktree would not do: the go
// command finds no version there.
func checkout(ctx context.Context, repository, into string, log io.Writer) error {
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
		fmt.Fprint(log, "the tree has changes that are not committed, and they are left out: ")
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

// compile builds a program of a tree for a processor.
func compile(ctx context.Context, tree, name, arch, into string, quick bool) error {
	args := []string{"build", "-trimpath", "-buildvcs=true", "-ldflags=-s", "-o", into + "/"}
	if quick {
		args = append(args, "-pgo=off")
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "./cmd/"+name)...)
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
