package program

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"
)

// groupAnnotation is the group of an option in the help.
const groupAnnotation = "group"

// Group puts options under a title in the help.
func Group(f *pflag.FlagSet, title string, names ...string) {
	for _, name := range names {
		if err := f.SetAnnotation(name, groupAnnotation, []string{title}); err != nil {
			panic(err) // there is no such option
		}
	}
}

// CommandGroup adds commands, and puts them under a title in the help.
func CommandGroup(parent *cobra.Command, title string, commands ...*cobra.Command) {
	parent.AddGroup(&cobra.Group{ID: title, Title: title + ":"})
	for _, cmd := range commands {
		cmd.GroupID = title
	}
	parent.AddCommand(commands...)
}

// helpColumns is the width of a help text that does not go to a terminal.
const helpColumns = 110

// WithHelp makes a command, and those below it, print its help in our form.
func WithHelp(cmd *cobra.Command) {
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		h := helpText{w: cmd.OutOrStdout(), style: StyleOf(cmd.OutOrStdout()), columns: columnsOf(cmd.OutOrStdout())}
		h.print(cmd)
	})
	cmd.SetUsageFunc(func(cmd *cobra.Command) error {
		h := helpText{w: cmd.OutOrStderr(), style: StyleOf(cmd.OutOrStderr()), columns: helpColumns}
		h.usage(cmd)
		return h.err
	})
}

// columnsOf is the width of a terminal, or helpColumns.
func columnsOf(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			return max(60, min(columns, helpColumns))
		}
	}
	return helpColumns
}

// A helpText is a help that is being printed.
type helpText struct {
	w       io.Writer
	style   Style
	columns int
	err     error
}

func (h *helpText) say(format string, args ...any) {
	if h.err == nil {
		_, h.err = fmt.Fprintf(h.w, format, args...)
	}
}

func (h *helpText) print(cmd *cobra.Command) {
	text := cmd.Long
	if text == "" {
		text = cmd.Short
	}
	h.say("%s\n\n", strings.TrimRight(text, " \n"))
	h.usage(cmd)
}

func (h *helpText) usage(cmd *cobra.Command) {
	h.say("%s\n", h.style.Bold("Usage:"))
	if cmd.HasAvailableSubCommands() {
		h.say("  %s COMMAND [OPTIONS]\n", cmd.CommandPath())
	} else {
		h.say("  %s\n", strings.ReplaceAll(cmd.UseLine(), "[flags]", "[OPTIONS]"))
	}
	if cmd.HasExample() {
		h.say("\n%s\n%s\n", h.style.Bold("Examples:"), strings.TrimRight(cmd.Example, " \n"))
	}
	h.commands(cmd)
	cmd.InitDefaultHelpFlag()
	h.options(cmd.LocalFlags(), "Options")
	h.options(cmd.InheritedFlags(), "Options of all commands")
	if cmd.HasAvailableSubCommands() {
		h.say("\n'%s COMMAND --help' says more about a command.\n", cmd.CommandPath())
	}
}

// commands lists the commands below one, by group.
func (h *helpText) commands(cmd *cobra.Command) {
	titles := []string{}
	for _, g := range cmd.Groups() {
		titles = append(titles, g.ID)
	}
	widest := 0
	byGroup := make(map[string][]*cobra.Command)
	for _, sub := range cmd.Commands() {
		if !sub.IsAvailableCommand() && sub.Name() != "help" {
			continue
		}
		byGroup[sub.GroupID] = append(byGroup[sub.GroupID], sub)
		widest = max(widest, len(sub.Name()))
	}
	other := "Commands"
	if len(titles) > 0 {
		other = "Other commands"
	}
	for _, title := range append(titles, "") {
		if len(byGroup[title]) == 0 {
			continue
		}
		name := title
		if name == "" {
			name = other
		}
		h.say("\n%s\n", h.style.Bold(name+":"))
		for _, sub := range byGroup[title] {
			h.say("  %-*s  %s\n", widest, sub.Name(), sub.Short)
		}
	}
}

// options lists options by group, those without one first.
func (h *helpText) options(flags *pflag.FlagSet, plain string) {
	groups := map[string]*pflag.FlagSet{}
	var titles []string
	flags.SortFlags = false
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		title := plain
		if named := f.Annotations[groupAnnotation]; len(named) > 0 {
			title = named[0]
		}
		if groups[title] == nil {
			groups[title] = pflag.NewFlagSet(title, pflag.ContinueOnError)
			groups[title].SortFlags = false
			titles = append(titles, title)
		}
		groups[title].AddFlag(f)
	})
	if i := slices.Index(titles, plain); i > 0 {
		titles = append([]string{plain}, slices.Delete(titles, i, i+1)...)
	}
	for _, title := range titles {
		h.say("\n%s\n%s", h.style.Bold(title+":"), groups[title].FlagUsagesWrapped(h.columns))
	}
}
