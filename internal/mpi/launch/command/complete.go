package command

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// complete offers options where one can stand, and file names otherwise.
func complete(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	parts := split(args)
	flags := programFlags(&programOptions{})
	if len(parts) == 1 {
		jobFlags(flags, &jobOptions{})
	}
	if _, program := cut(parts[len(parts)-1], flags); len(program) > 0 || !strings.HasPrefix(word, "-") {
		return nil, cobra.ShellCompDirectiveDefault
	}
	var found []string
	flags.VisitAll(func(f *pflag.Flag) {
		if name := "--" + f.Name; strings.HasPrefix(name, word) {
			found = append(found, name+"\t"+f.Usage)
		}
	})
	return found, cobra.ShellCompDirectiveNoFileComp
}
