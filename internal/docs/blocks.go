package docs

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A Block is a block of code of a page.
type Block struct {
	Page string // relative to the root of the module
	Line int    // of the opening fence, from 1
	Lang string // first word of the info string
	File string // a name with a dot in the info string: what the block is part of
	From string // a file of the module of which the block is a part
	Mark Mark
	Text []string // its lines
	Go   string   // of a block of Go: what the comment before it declares
}

// A Mark says what the test does with a block of commands.
type Mark struct {
	Run    bool
	Reason string   // why the block is not run
	Fails  bool     // its last command must fail
	Slow   bool     // not in the fast tier
	Needs  []string // needs (internal/need) without which it is skipped
	Until  string   // it runs in the background, and this line of its output ends the wait for it
}

// A Problem is something to fix in a page.
type Problem struct {
	Page string
	Line int
	Text string
}

func (p Problem) String() string { return fmt.Sprintf("%s:%d: %s", p.Page, p.Line, p.Text) }

// help ends every message about a mark.
const help = "docs/internals/testing.md, \"Commands in pages\", has the marks"

var (
	fence    = regexp.MustCompile("^( {0,3})(```+)(.*)$")
	listItem = regexp.MustCompile(`^\s*([-*+]|\d+[.)]) `)
	prompt   = regexp.MustCompile(`^\$ `)
)

// unchecked are the languages of blocks that are shown and not checked.
var unchecked = []string{"text", "c", "python", "ini", "json", "yaml", "promql", "proto", "html", "diff", "lua"}

// Parse finds the blocks of a page.
func Parse(page, text string) (blocks []Block, problems []Problem) {
	lines := strings.Split(text, "\n")
	wrong := func(i int, format string, args ...any) {
		problems = append(problems, Problem{page, i + 1, fmt.Sprintf(format, args...)})
	}
	declared := ""
	for i := 0; i < len(lines); i++ {
		if decl, ok := strings.CutPrefix(lines[i], "<!-- go"); ok {
			declared, i = comment(lines, i, decl)
			continue
		}
		m := fence.FindStringSubmatch(lines[i])
		if m == nil {
			if indented(lines, i) {
				wrong(i, "a block by indentation cannot have a mark: put it between ```text and ```, or ```sh run, ```sh norun: REASON, ```console run (%s)", help)
				i = blockEnd(lines, i)
			}
			continue
		}
		b := Block{Page: page, Line: i + 1, Go: declared}
		declared = ""
		if err := b.read(strings.TrimSpace(m[3])); err != nil {
			wrong(i, "%v", err)
		}
		for i++; i < len(lines) && strings.TrimSpace(lines[i]) != m[2]; i++ {
			b.Text = append(b.Text, strings.TrimPrefix(lines[i], m[1]))
		}
		if i == len(lines) {
			wrong(b.Line-1, "the block has no end")
		}
		if err := b.check(); err != nil {
			wrong(b.Line-1, "%v", err)
		}
		blocks = append(blocks, b)
	}
	return blocks, problems
}

// comment reads a comment that starts at line i, and returns its text and its last line.
func comment(lines []string, i int, first string) (string, int) {
	var text []string
	for line := first; ; line = lines[i] {
		before, _, end := strings.Cut(line, "-->")
		text = append(text, before)
		if i++; end || i == len(lines) {
			return strings.Join(text, "\n"), i - 1
		}
	}
}

// indented tells whether a block by indentation starts at line i. Text of a list may be as far to the right.
func indented(lines []string, i int) bool {
	if !strings.HasPrefix(lines[i], "    ") || strings.TrimSpace(lines[i]) == "" || i > 0 && strings.TrimSpace(lines[i-1]) != "" {
		return false
	}
	for i--; i >= 0; i-- {
		if strings.TrimSpace(lines[i]) != "" {
			return !listItem.MatchString(lines[i]) && !strings.HasPrefix(lines[i], "  ")
		}
	}
	return true
}

// blockEnd returns the last line of a block by indentation.
func blockEnd(lines []string, i int) int {
	for i+1 < len(lines) && (strings.HasPrefix(lines[i+1], "    ") || strings.TrimSpace(lines[i+1]) == "") {
		i++
	}
	return i
}

// read parses an info string: LANGUAGE [FILE] [MARKS].
func (b *Block) read(info string) error {
	words := strings.Fields(info)
	if len(words) == 0 {
		return fmt.Errorf("the block has no language: write ```text for a picture or output, ```sh run for commands (%s)", help)
	}
	b.Lang = words[0]
	switch {
	case b.Lang == "sh" || b.Lang == "console":
		return b.Mark.read(strings.TrimSpace(strings.TrimPrefix(info, b.Lang)))
	case b.Lang == "go" && len(words) == 2 && strings.Contains(words[1], "."):
		b.File = words[1]
		return nil
	case b.Lang == "go" && len(words) == 3 && words[1] == "from:":
		b.From = words[2]
		return nil
	case b.Lang == "go" || slices.Contains(unchecked, b.Lang):
		if len(words) > 1 {
			return fmt.Errorf("```%s takes no mark, but has %q", b.Lang, strings.Join(words[1:], " "))
		}
		return nil
	}
	return fmt.Errorf("unknown language %q: use sh or console for commands, go, or one of %s", b.Lang, strings.Join(unchecked, ", "))
}

// read parses the marks of a block of commands.
func (m *Mark) read(marks string) error {
	for marks != "" {
		var word string
		word, marks, _ = strings.Cut(marks, " ")
		marks = strings.TrimSpace(marks)
		switch word {
		case "norun:":
			m.Reason, marks = marks, ""
		case "until:":
			m.Until, marks = marks, ""
		case "needs:":
			var list string
			list, marks, _ = strings.Cut(marks, " ")
			m.Needs = strings.Split(list, ",")
		case "run":
			m.Run = true
		case "fails":
			m.Fails = true
		case "slow":
			m.Slow = true
		default:
			return fmt.Errorf("unknown mark %q: there are run, fails, slow, needs: A,B, until: TEXT, and norun: REASON (%s)", word, help)
		}
	}
	if m.Run == (m.Reason != "") {
		return fmt.Errorf("the commands need a mark: either run, or norun: and the reason (%s)", help)
	}
	return nil
}

// check finds what contradicts a block's language.
func (b *Block) check() error {
	prompted := slices.ContainsFunc(b.Text, prompt.MatchString)
	switch {
	case b.Lang == "text" && prompted:
		return fmt.Errorf("a line starts with a prompt, so this is ```console (%s)", help)
	case b.Lang == "sh" && prompted:
		return fmt.Errorf("a line starts with a prompt: write ```console, or leave the prompt out")
	case b.Lang == "console" && (len(b.Text) == 0 || !prompt.MatchString(b.Text[0])):
		return fmt.Errorf("the first line of ```console is no command: it must start with \"$ \"")
	}
	return nil
}
