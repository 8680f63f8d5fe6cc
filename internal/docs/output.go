package docs

import (
	"regexp"
	"strconv"
	"strings"
)

// split cuts the output of a session into what each command of ```console printed, by line.
func split(output string) map[int]string {
	by := make(map[int]string)
	parts := strings.Split(output, Marker)
	for _, part := range parts[1:] {
		number, text, _ := strings.Cut(part, "\n")
		if line, err := strconv.Atoi(number); err == nil {
			by[line] += text
		}
	}
	return by
}

// Compare returns what differs between a page's ```console blocks and the output of their session.
func Compare(blocks []Block, output string, ran func(Block) bool) (problems []Problem) {
	printed := split(output)
	for _, b := range blocks {
		if b.Lang != "console" || !b.Mark.Run || !ran(b) {
			continue
		}
		command, at := "", 0
		var shown []string
		compare := func() {
			if at > 0 && !matches(shown, printed[at]) {
				problems = append(problems, Problem{b.Page, at, "the output of " + strconv.Quote(command) + " differs (... stands for anything).\n" +
					"shown:\n" + indent(strings.Join(shown, "\n")) + "\nprinted:\n" + indent(strings.TrimRight(printed[at], "\n"))})
			}
		}
		for i, text := range b.Text {
			if c, ok := strings.CutPrefix(text, "$ "); ok {
				compare()
				command, at, shown = c, b.Line+1+i, nil
			} else if !strings.HasPrefix(text, "> ") {
				shown = append(shown, text)
			}
		}
		compare()
	}
	return problems
}

// matches compares lines, in which "..." stands for any text, and alone on a line for any lines. Spaces at
// the ends of lines do not count, and several count as one: widths of columns depend on what is in them.
func matches(shown []string, printed string) bool {
	var pattern strings.Builder
	pattern.WriteString(`\A`)
	for _, line := range shown {
		if strings.TrimSpace(line) == "..." {
			pattern.WriteString(`(?:.*\n)*?`)
			continue
		}
		quoted := regexp.QuoteMeta(spaces.ReplaceAllString(strings.TrimRight(line, " "), " "))
		pattern.WriteString(strings.ReplaceAll(quoted, regexp.QuoteMeta("..."), `.*?`) + `\n`)
	}
	pattern.WriteString(`\z`)
	var got strings.Builder
	for line := range strings.Lines(printed) {
		got.WriteString(spaces.ReplaceAllString(strings.TrimRight(line, " \n"), " ") + "\n")
	}
	return regexp.MustCompile(pattern.String()).MatchString(got.String())
}

// spaces are runs of spaces.
var spaces = regexp.MustCompile(` +`)

// indent shows text as a quotation.
func indent(text string) string { return "    " + strings.ReplaceAll(text, "\n", "\n    ") }
