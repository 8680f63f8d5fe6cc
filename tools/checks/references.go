package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/internal/references"
)

func referencesCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "references PACKAGE...",
		Short: "list the references between files of a package that point up",
		Long: `references puts the files of a package in the order in which the fewest references
point from a lower file to a higher one, and lists these. A reference is a pair of a
file and a name that it uses and another file of the package defines.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, patterns []string) error {
			counted, err := references.Load(c.Context(), ".", patterns...)
			if err != nil {
				return err
			}
			for _, p := range counted {
				printReferences(c.OutOrStdout(), p)
			}
			return nil
		},
	}
}

func printReferences(w io.Writer, p *references.Package) {
	fmt.Fprintf(w, "%s: %d of %d references point up\n", p.Path, len(p.Up), p.Total)
	for _, file := range p.Files {
		fmt.Fprintf(w, "  %s\n", file)
		for _, r := range p.Up {
			if r.From == file {
				fmt.Fprintf(w, "      up: %s of %s\n", r.Name, r.To)
			}
		}
	}
}
