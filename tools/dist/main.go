// Command dist makes what Viaduct is installed from: static binaries, packages for Debian and for RPM, container images,
// manual pages and completions (make dist; docs/guides/install.md).
//
// It builds the commit HEAD of a repository in a clean clone, so that versions come from git and nothing else of the tree
// gets in. The same commit and the same Go give the same bytes: times are those of the commit, owners are fixed, and
// everything is sorted. The steps are in build.go, and what goes where is in bundle.go.
//
// It is a module of its own, so that the libraries that it needs are no dependencies of Viaduct.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	var p plan
	cmd := &cobra.Command{
		Use:   "dist",
		Short: "Make static binaries, packages and container images of a commit",
		Args:  cobra.NoArgs, SilenceUsage: true, SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p.log = cmd.ErrOrStderr()
			files, err := p.run(cmd.Context())
			for _, name := range files {
				fmt.Fprintln(cmd.OutOrStdout(), filepath.Join(p.out, name))
			}
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&p.source, "source", "../..", "the repository; the commit HEAD is built")
	f.StringVarP(&p.out, "output", "o", "../../out/dist", "folder for the results; what it contains is removed")
	f.StringSliceVar(&p.arches, "arch", processors, "processors")
	f.BoolVar(&p.quick, "quick", false, "build without profile-guided optimisation, which is faster")
	return cmd
}
