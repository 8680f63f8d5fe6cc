// Package programs builds programs of this module for tests that start them. It keeps them in
// go's build cache, so that each program is linked once for all packages that test
// with it, and again when its sources have changed.
package programs

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// module is the path of this module.
const module = "github.com/viaduct-hpc/viaduct/"

// Build puts programs into a folder. packages are their package paths relative to the root of
// the module, such as "cmd/mpiexec". They are built without cgo, as for a release, but without
// profile-guided optimisation, which would compile all dependencies again for each of them. The
// current folder must be within the module.
func Build(into string, packages ...string) error {
	store, err := openStore()
	if err != nil {
		return fmt.Errorf("programs: %w", err)
	}
	defer store.close()
	if err := store.build(packages); err != nil {
		return err
	}
	for _, p := range packages {
		if err := link(store.program(p), filepath.Join(into, path.Base(p))); err != nil {
			return fmt.Errorf("programs: %w", err)
		}
	}
	return nil
}

// Go runs the go command, without cgo. packages are those that it compiles or looks at, relative to the root of
// the module: their sources are inputs of the test, as [Sources] says.
func Go(packages []string, args ...string) (out string, err error) {
	if err := Sources(packages...); err != nil {
		return "", err
	}
	return run(args...)
}

// Sources makes the sources of packages, and of what they import from this module, inputs of the test that
// runs: when they have changed, go test runs it again and does not take its result from the cache. "..." are
// all packages.
func Sources(packages ...string) error {
	files, err := sources(packages...)
	if err != nil {
		return err
	}
	return open(files)
}

// sources are the folders of packages and of what they import from this module, the files that they embed, with
// their folders, and go.mod.
func sources(packages ...string) (files []string, err error) {
	const inputs = `{{if and .Module .Module.Main}}{{.Module.GoMod}}{{"\n"}}{{.Dir}}{{range .EmbedFiles}}{{"\n"}}{{$.Dir}}{{"\t"}}{{.}}{{end}}{{end}}`
	out, err := run(append([]string{"list", "-deps", "-f", inputs}, paths(packages)...)...)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(strings.TrimSpace(out)) {
		dir, embedded, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		files = append(files, dir)
		for ; embedded != "" && embedded != "."; embedded = path.Dir(embedded) {
			files = append(files, filepath.Join(dir, embedded))
		}
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}

// open opens files and folders, and closes them: go test compares the sizes and times of files that a test
// opens, and of those in a folder.
func open(files []string) error {
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			return fmt.Errorf("programs: %w", err)
		}
		_ = f.Close() // it was not even read
	}
	return nil
}

// paths are the import paths of packages.
func paths(packages []string) (all []string) {
	for _, p := range packages {
		all = append(all, module+p)
	}
	return all
}

func run(args ...string) (out string, err error) {
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("programs: %v: %w\n%s", cmd, err, stderr.String())
	}
	return stdout.String(), nil
}
