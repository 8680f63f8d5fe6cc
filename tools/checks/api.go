package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/tools/go/packages"

	"github.com/viaduct-hpc/viaduct/internal/tidy"
)

// viaduct is the path of this module.
const viaduct = "github.com/viaduct-hpc/viaduct"

// published are the packages for programs. What they export is in api/, a file for each, and does not change by accident.
var published = tidy.Published

func apiCommand() *cobra.Command {
	var update, release bool
	cmd := &cobra.Command{
		Use:   "api",
		Short: "compare what the published packages export with the files in api/",
		Long: `api lists what the published packages export and is not in the files of api/, and what is there
and no longer exported. It fails if there is anything; --update writes the files. --release lists what
breaks programs for the last tag (apidiff), which is a failure from v1 on.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if update {
				return updateAPI(c.Context(), ".", published)
			}
			if release {
				return againstTag(c.Context(), c.OutOrStdout(), ".", published)
			}
			changes, err := changedAPI(c.Context(), ".", published)
			for _, change := range changes {
				fmt.Fprintln(c.OutOrStdout(), change)
			}
			if err == nil && len(changes) > 0 {
				err = errors.New("api: exported names have changed: if that is meant, run go run ./tools/checks api --update and commit api/")
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&update, "update", false, "write the files")
	cmd.Flags().BoolVar(&release, "release", false, "compare with the last tag")
	return cmd
}

// apiFile is the file with what a package exports.
func apiFile(root, pkg string) string {
	return filepath.Join(root, "api", strings.ReplaceAll(pkg, "/", "_")+".txt")
}

// updateAPI writes the files of packages, and removes all others.
func updateAPI(ctx context.Context, root string, pkgs []string) error {
	lines, err := exported(ctx, root, pkgs)
	if err != nil {
		return err
	}
	old, err := filepath.Glob(filepath.Join(root, "api", "*.txt"))
	if err != nil {
		return err
	}
	for _, name := range old {
		if err := os.Remove(name); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Join(root, "api"), 0o755); err != nil {
		return err
	}
	for _, pkg := range pkgs {
		if err := os.WriteFile(apiFile(root, pkg), []byte(strings.Join(lines[pkg], "\n")+"\n"), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// changedAPI returns a line for each difference between what packages export and their files.
func changedAPI(ctx context.Context, root string, pkgs []string) (changes []string, err error) {
	lines, err := exported(ctx, root, pkgs)
	if err != nil {
		return nil, err
	}
	for _, pkg := range pkgs {
		text, err := os.ReadFile(apiFile(root, pkg))
		if errors.Is(err, os.ErrNotExist) {
			changes = append(changes, fmt.Sprintf("%s: there is no %s", pkg, apiFile("", pkg)))
			continue
		}
		if err != nil {
			return nil, err
		}
		recorded := strings.Split(strings.TrimSpace(string(text)), "\n")
		for _, line := range recorded {
			if !slices.Contains(lines[pkg], line) {
				changes = append(changes, fmt.Sprintf("%s: removed: %s", pkg, line))
			}
		}
		for _, line := range lines[pkg] {
			if !slices.Contains(recorded, line) {
				changes = append(changes, fmt.Sprintf("%s: added: %s", pkg, line))
			}
		}
	}
	return changes, nil
}

// exported returns what packages export, sorted lines for each.
func exported(ctx context.Context, root string, pkgs []string) (map[string][]string, error) {
	var patterns []string
	for _, pkg := range pkgs {
		patterns = append(patterns, "./"+pkg)
	}
	// The API is that of the released platform, whatever machine this is.
	env := append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
	loaded, err := packages.Load(&packages.Config{
		Context: ctx, Dir: root, Env: env, Mode: packages.NeedName | packages.NeedTypes | packages.NeedImports | packages.NeedDeps | packages.NeedModule,
	}, patterns...)
	if err != nil {
		return nil, fmt.Errorf("api: %w", err)
	}
	all := make(map[string][]string)
	for _, p := range loaded {
		if len(p.Errors) > 0 {
			return nil, fmt.Errorf("api: %s: %w", p.PkgPath, p.Errors[0])
		}
		name := strings.TrimPrefix(p.PkgPath, p.Module.Path+"/")
		l := &lister{own: p.Types, module: p.Module.Path + "/"}
		for _, n := range p.Types.Scope().Names() {
			if o := p.Types.Scope().Lookup(n); o.Exported() {
				l.object(o)
			}
		}
		slices.Sort(l.lines)
		all[name] = slices.Compact(l.lines)
	}
	return all, nil
}
