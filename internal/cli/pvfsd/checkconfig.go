package pvfsd

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
)

func (a *App) checkConfigCommand() *cobra.Command {
	var alias string
	cmd := &cobra.Command{
		Use:   "check-config FILE",
		Short: "Check the configuration of a file system",
		Long: `Check-config reads a configuration, fs.conf, as a server does when it starts. It prints all
errors: keywords and sections that are misspelt, in the wrong place or repeated, and bad values.
If there are none, it prints what the configuration means, and which keywords of OrangeFS in it
have no effect on pvfsd.

With --alias it prints the settings of this server, including its own <ServerOptions>.

` + exitHelp,
		Example: `  pvfsd check-config fs.conf
  pvfsd check-config --alias io01 fs.conf`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return program.Usagef("which configuration? Give its file: pvfsd check-config fs.conf")
			case len(args) > 1:
				return program.Usagef("check-config takes one file, not %d", len(args))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.checkConfig(args[0], alias) },
	}
	cmd.Flags().StringVar(&alias, "alias", "", "print the settings of this server")
	return cmd
}

func (a *App) checkConfig(file, alias string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return program.Usage(err)
	}
	names, _ := config.Names(string(text)) // ParseWith reports the error too
	systems := make([]*config.Config, max(len(names), 1))
	for i := range systems {
		opts := config.Options{File: file}
		if len(names) > 1 {
			opts.FS = names[i]
		}
		if systems[i], err = config.ParseWith(string(text), opts); err != nil {
			return program.Usage(err)
		}
	}
	server := -1
	if alias != "" {
		if server = systems[0].Index(alias); server < 0 {
			return program.Usagef("%s has no server %q; its servers are: %s", file, alias, aliases(systems[0]))
		}
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%s has no errors\n", file)
	lines := map[int]config.Ignored{}
	for _, c := range systems {
		out.WriteString("\n")
		describe(&out, c, server)
		for _, i := range ignored(c, server) {
			lines[i.Line] = i
		}
	}
	describeIgnored(&out, lines)
	_, err = a.Out.Write([]byte(out.String()))
	return err
}

// ignored are the keywords without effect on a server, or on any server if server is negative.
func ignored(c *config.Config, server int) []config.Ignored {
	return slices.DeleteFunc(c.Ignored(), func(i config.Ignored) bool {
		return server >= 0 && i.Server >= 0 && i.Server != server
	})
}

// namesOf are the names of keywords, each once.
func namesOf(list []config.Ignored) string {
	var names []string
	for _, i := range list {
		if !slices.Contains(names, i.Keyword.Name) {
			names = append(names, i.Keyword.Name)
		}
	}
	return strings.Join(names, ", ")
}

// describeIgnored lists keywords without effect by their lines, those that concern security first.
func describeIgnored(out *strings.Builder, lines map[int]config.Ignored) {
	for _, part := range []struct {
		security bool
		title    string
	}{
		{true, "Keywords of OrangeFS that matter for SECURITY and have no effect on pvfsd:"},
		{false, "Keywords of OrangeFS that have no effect on pvfsd:"},
	} {
		var list []config.Ignored
		for _, i := range lines {
			if i.Keyword.Security == part.security {
				list = append(list, i)
			}
		}
		if len(list) == 0 {
			continue
		}
		slices.SortFunc(list, func(a, b config.Ignored) int { return cmp.Compare(a.Line, b.Line) })
		fmt.Fprintf(out, "\n%s\n", part.title)
		for _, i := range list {
			why := ""
			if i.Keyword.Why != "" {
				why = ": " + i.Keyword.Why
			}
			fmt.Fprintf(out, "  line %-4d %s%s\n", i.Line, i.Keyword.Name, why)
		}
	}
}
