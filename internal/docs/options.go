package docs

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// checkable are the programs whose commands and options are looked up in their help. mpiexec is not among them:
// after its own options come a program and that program's.
var checkable = []string{"bmi", "pvfs", "pvfsd"}

var (
	option       = regexp.MustCompile(`^--?([a-z][a-z-]*)`)
	subcommand   = regexp.MustCompile(`(?m)^  ([a-z][a-z-]*)  +[A-Z]`)
	shellComment = regexp.MustCompile(`(^|\s)#.*`)
	separator    = regexp.MustCompile(`[|&;()]+`)
)

// CheckOptions looks at the commands that are not run: whether the programs have these subcommands and
// options. help returns what a program prints for its subcommand, or for "" about itself.
func CheckOptions(blocks []Block, help func(program, command string) (string, error)) (problems []Problem) {
	for _, b := range blocks {
		if b.Lang != "sh" || b.Mark.Run {
			continue
		}
		text := strings.Join(b.Text, "\n")
		for i, line := range strings.Split(text, "\n") {
			line = shellComment.ReplaceAllString(line, "")
			for _, command := range separator.Split(line, -1) {
				if err := checkCommand(strings.Fields(command), help); err != nil {
					problems = append(problems, Problem{b.Page, b.Line + 1 + i, err.Error()})
				}
			}
		}
	}
	return problems
}

// checkCommand looks up one command, if it is one of a program that can be looked up.
func checkCommand(words []string, help func(program, command string) (string, error)) error {
	for len(words) > 0 && strings.Contains(words[0], "=") {
		words = words[1:] // a variable
	}
	if i := slices.Index(words, "--"); i > 0 && words[0] == "runuser" {
		words = words[i+1:]
	}
	if len(words) < 2 || !slices.Contains(checkable, path.Base(words[0])) {
		return nil
	}
	program, words := path.Base(words[0]), words[1:]
	known, err := help(program, "")
	if err != nil {
		return err
	}
	var commands []string
	for _, m := range subcommand.FindAllStringSubmatch(known, -1) {
		commands = append(commands, m[1])
	}
	i := slices.IndexFunc(words, func(w string) bool { return slices.Contains(commands, w) })
	if i < 0 {
		return fmt.Errorf("%s has no command among %q; it has %s", program, words, strings.Join(commands, ", "))
	}
	more, err := help(program, words[i])
	if err != nil {
		return err
	}
	for _, w := range words {
		m := option.FindStringSubmatch(w)
		if w == "--" {
			break
		}
		if m != nil && !regexp.MustCompile(`(?m)^\s+(-\w, )?(--`+m[1]+`\b|-`+m[1]+`, )`).MatchString(known+more) {
			return fmt.Errorf("%s %s has no option %s", program, words[i], w)
		}
	}
	return nil
}
