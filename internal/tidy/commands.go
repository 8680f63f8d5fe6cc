package tidy

import (
	"bytes"
	"fmt"
	"go/ast"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

var (
	// testName is the name of a test, benchmark or fuzz target. As in Go itself, no small letter may follow the prefix.
	testName = regexp.MustCompile(`\b(?:Test|Benchmark|Fuzz)[A-Z]\w*`)
	// makeTarget is a make target in a text: at the beginning of an indented line, in quotes or in parentheses.
	makeTarget = regexp.MustCompile("(?:^(?:    |//\t)|[`(])make ([a-z][a-z-]*)")
	// goCommand is a command line for folders of this module, up to where prose or a shell's comment goes on.
	goCommand = regexp.MustCompile("(?:\\bgo|\\$\\(GO\\)) (?:build|run|test|vet) [^`#]*")
	// goFolder is a folder, or a pattern of folders, in a command line.
	goFolder = regexp.MustCompile(`(?:^|\s)\./([\w./-]*)`)
	// goPicks is an option that selects tests by their names.
	goPicks = regexp.MustCompile(`\s-(?:run|bench|fuzz)[ =](?:'([^']*)'|"([^"]*)"|(\S+))`)
	// ownVariable is an environment variable of this project.
	ownVariable = regexp.MustCompile(`\bVIADUCT(?:_[A-Z]+)+\b`)
	// ruleOfMake is a line of a Makefile that starts a rule.
	ruleOfMake = regexp.MustCompile(`(?m)^([a-z][a-z-]*):`)
)

// commands: tests, packages, variables and make targets that texts mention exist.
func commands(t *Tree) (problems []Problem) {
	d := declared(t)
	for _, text := range t.Texts {
		if path.Ext(text.Path) == ".go" {
			continue // only its comments, below
		}
		problems = append(problems, d.look(t, text.Path, 1, text.Content)...)
	}
	for _, p := range t.Packages {
		for _, f := range p.Files {
			for _, group := range f.AST.Comments {
				for _, c := range group.List {
					problems = append(problems, d.look(t, f.Path, t.fset.Position(c.Pos()).Line, []byte(c.Text))...)
				}
			}
		}
	}
	return problems
}

// declarations are the names that texts may mention.
type declarations struct {
	calls     map[string]bool     // methods, and functions that are not tests: bmi.TestContext is not a test
	tests     map[string][]string // tests, benchmarks and fuzz targets, by folder
	variables map[string]bool     // environment variables in strings of code
	targets   map[string]bool     // of make
}

func declared(t *Tree) *declarations {
	d := &declarations{
		calls: make(map[string]bool), tests: make(map[string][]string),
		variables: make(map[string]bool), targets: make(map[string]bool),
	}
	for _, p := range t.Packages {
		for _, f := range p.Files {
			ast.Inspect(f.AST, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.FuncDecl:
					if f.Test && n.Recv == nil && testName.MatchString(n.Name.Name) {
						d.tests[p.Dir] = append(d.tests[p.Dir], n.Name.Name)
					} else {
						d.calls[n.Name.Name] = true
					}
				case *ast.Field: // of a struct, or a method of an interface
					for _, name := range n.Names {
						d.calls[name.Name] = true
					}
				case *ast.BasicLit:
					for _, name := range ownVariable.FindAllString(n.Value, -1) {
						d.variables[name] = true
					}
				}
				return true
			})
		}
	}
	for _, text := range t.Texts {
		if path.Base(text.Path) == "Makefile" {
			for _, m := range ruleOfMake.FindAllSubmatch(text.Content, -1) {
				d.targets[string(m[1])] = true
			}
		}
	}
	return d
}

// look finds names in a text that do not exist. first is the line number of the text's start.
func (d *declarations) look(t *Tree, file string, first int, content []byte) (problems []Problem) {
	for i, line := range bytes.Split(content, []byte("\n")) {
		missing := func(what string) {
			problems = append(problems, Problem{Path: file, Line: first + i, What: "there is no " + what})
		}
		for _, name := range testName.FindAllString(string(line), -1) {
			example := bytes.Contains(line, []byte("func "+name))
			if !example && !d.calls[name] && !d.tested(file, name) {
				missing(name)
			}
		}
		for _, name := range ownVariable.FindAllString(string(line), -1) {
			if !d.variables[name] {
				missing(name)
			}
		}
		for _, m := range makeTarget.FindAllSubmatch(line, -1) {
			if !d.targets[string(m[1])] {
				missing("make " + string(m[1]))
			}
		}
		for _, command := range goCommand.FindAllString(string(line), -1) {
			d.command(t, command, missing)
		}
	}
	return problems
}

// tested reports whether a test exists. Code mentions tests of its own package; documents mention any test, also by a
// common prefix of several.
func (d *declarations) tested(file, name string) bool {
	if path.Ext(file) == ".go" {
		return slices.Contains(d.tests[path.Dir(file)], name)
	}
	for _, tests := range d.tests {
		if slices.ContainsFunc(tests, func(test string) bool { return strings.HasPrefix(test, name) }) {
			return true
		}
	}
	return false
}

// command checks one command line of go.
func (d *declarations) command(t *Tree, line string, missing func(what string)) {
	var tests []string
	folders := goFolder.FindAllStringSubmatch(line, -1)
	for _, m := range folders {
		folder, below := strings.CutSuffix(m[1], "...")
		folder = path.Clean(folder)
		if info, err := os.Stat(filepath.Join(t.root, filepath.FromSlash(folder))); err != nil || !info.IsDir() {
			missing("folder " + folder)
		}
		for dir, names := range d.tests {
			if dir == folder || below && (folder == "." || strings.HasPrefix(dir, folder+"/")) {
				tests = append(tests, names...)
			}
		}
	}
	if len(folders) == 0 {
		return // the packages are given elsewhere
	}
	for _, m := range goPicks.FindAllStringSubmatch(line, -1) {
		picks := strings.ReplaceAll(m[1]+m[2]+m[3], "$$", "$") // the Makefile's form of $
		if picks == "^$" {
			continue // none is meant
		}
		for _, pick := range alternatives(picks) {
			re, err := regexp.Compile(pick)
			if err != nil || !slices.ContainsFunc(tests, re.MatchString) {
				missing(fmt.Sprintf("test %s in the packages named", pick))
			}
		}
	}
}

// alternatives are the tests selected by a pattern, each of which must exist; patterns for subtests are ignored.
func alternatives(pattern string) []string {
	pattern, _, _ = strings.Cut(pattern, "/")
	if strings.ContainsAny(pattern, `([\`) {
		return []string{pattern}
	}
	return strings.Split(pattern, "|")
}
