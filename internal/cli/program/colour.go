package program

import (
	"io"
	"os"

	"github.com/fatih/color"
	"golang.org/x/term"

	"github.com/viaduct-hpc/viaduct/internal/environ"
)

// A Style colours text, or leaves it as it is.
type Style struct{ on bool }

// StyleOf is the style for output to w: in colour on a terminal, as no-color.org and bixense.com/clicolors say.
func StyleOf(w io.Writer) Style {
	f, ok := w.(*os.File)
	return Style{on: wantsColour(ok && term.IsTerminal(int(f.Fd())), environ.Getenv)}
}

// wantsColour tells whether output is coloured.
func wantsColour(terminal bool, getenv func(string) string) bool {
	switch force := getenv("CLICOLOR_FORCE"); {
	case getenv("NO_COLOR") != "":
		return false
	case force != "" && force != "0":
		return true
	}
	return terminal && getenv("TERM") != "dumb" && getenv("CLICOLOR") != "0"
}

// Bold is for headings.
func (s Style) Bold(text string) string { return s.paint(text, color.Bold) }

// Good is for successes.
func (s Style) Good(text string) string { return s.paint(text, color.FgGreen) }

// Bad is for errors and failures.
func (s Style) Bad(text string) string { return s.paint(text, color.FgRed, color.Bold) }

func (s Style) paint(text string, attributes ...color.Attribute) string {
	if !s.on || text == "" {
		return text
	}
	c := color.New(attributes...)
	c.EnableColor()
	return c.Sprint(text)
}
