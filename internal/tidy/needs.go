package tidy

import (
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
)

// needPackage is where tests say what they need of the machine.
const needPackage = "internal/need"

// everywhere are the programs that a minimal Debian with git, make and Go has. Tests run them by name.
var everywhere = []string{
	"bash", "cat", "cmp", "cp", "diff", "dpkg-deb", "echo", "env", "false", "find", "git", "go", "gofmt", "grep", "id", "kill", "ln", "ls", "make", "mkdir", "mkfifo",
	"mount", "mv", "rm", "sed", "seq", "sh", "sha256sum", "sleep", "sort", "stat", "tar", "touch", "true", "umount", "uname",
}

// testNames are the variables of tests.
var testNames = []string{"t", "tb", "b"}

// needs: a test names the programs that a machine may lack by internal/need, and whatever may skip it comes before
// what it starts: a goroutine, a process, a listener or a mount that nobody ends would outlive it.
func needs(t *Tree) (problems []Problem) {
	skipping := skippers(t)
	for _, p := range t.Packages {
		if p.Dir == needPackage {
			continue
		}
		for _, f := range p.Files {
			if !f.Test && !importsTesting(f) {
				continue
			}
			for _, decl := range f.AST.Decls {
				if fn, ok := decl.(*ast.FuncDecl); ok && fn.Body != nil {
					c := &needCheck{t: t, p: p, f: f, skipping: skipping}
					c.function(fn.Body)
					problems = append(problems, c.problems...)
				}
			}
		}
	}
	return problems
}

// A needCheck checks one function, and those within it each on its own.
type needCheck struct {
	t        *Tree
	p        *Package
	f        *File
	skipping map[string]bool
	problems []Problem
}

// function checks the order in a body, which is that of its text.
func (c *needCheck) function(body *ast.BlockStmt) {
	started := ""
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			c.function(n.Body)
			return false
		case *ast.GoStmt:
			started = "a goroutine"
			if lit, ok := n.Call.Fun.(*ast.FuncLit); ok {
				c.function(lit.Body)
			}
			return false
		case *ast.DeferStmt:
			started = "" // somebody ends it
			return false
		case *ast.CallExpr:
			switch name := called(n); {
			case name == "Cleanup":
				started = ""
			case started != "" && maySkip(c.t.Module, c.p, c.f, n, c.skipping):
				c.say(n.Pos(), "what may skip the test comes before %s is started", started)
				started = ""
			case !ends(n) && slices.Contains([]string{"Start", "Listen", "ListenPacket", "ListenUDP", "Mount"}, name):
				started = "something (" + name + ")"
			}
			c.program(n)
		}
		return true
	})
}

// ends reports whether a helper gets the test, by which it ends what it starts.
func ends(n *ast.CallExpr) bool {
	if len(n.Args) == 0 {
		return false
	}
	x, ok := n.Args[0].(*ast.Ident)
	return ok && slices.Contains(testNames, x.Name)
}

// program checks that a program which may be missing is named by internal/need.
func (c *needCheck) program(n *ast.CallExpr) {
	switch {
	case !c.f.Test:
	case isCall(n, "exec", "LookPath"):
		c.say(n.Pos(), "a test names a program that may be missing by need.Program")
	case isCall(n, "exec", "Command") && len(n.Args) > 0, isCall(n, "exec", "CommandContext") && len(n.Args) > 1:
		arg := n.Args[0]
		if called(n) == "CommandContext" {
			arg = n.Args[1]
		}
		lit, ok := arg.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return
		}
		name, err := strconv.Unquote(lit.Value)
		name = strings.TrimPrefix(name, "/bin/")
		if name == "go" && !strings.HasPrefix(c.p.Dir, "tools/dist") { // a module of its own: make tools runs its tests anew
			c.goCommand(n)
		}
		if err == nil && !slices.Contains(everywhere, name) && (!strings.Contains(name, "/") || strings.HasPrefix(name, "/usr/")) {
			c.say(n.Pos(), "a machine may lack %s: name it by need.Program", name)
		}
	}
}

// goCommand checks that go test knows what a test compiles: that is an input of the test, and its result is of
// no use when it has changed. The test's own package, "." of the command, is one anyhow.
func (c *needCheck) goCommand(n *ast.CallExpr) {
	verb, last := "", ""
	for _, arg := range n.Args {
		lit, ok := arg.(*ast.BasicLit)
		if !ok {
			continue
		}
		if last == `"go"` {
			verb = lit.Value
		}
		last = lit.Value
	}
	if last != `"."` && !slices.Contains([]string{`"env"`, `"mod"`}, verb) {
		c.say(n.Pos(), "a test runs the go command by programs.Go, so that go test runs it again when what it compiles has changed")
	}
}

func (c *needCheck) say(at token.Pos, format string, args ...any) {
	c.problems = append(c.problems, c.t.problem(c.f, at, format, args...))
}

// skippers are the functions of all packages that may skip a test, by folder and name.
func skippers(t *Tree) map[string]bool {
	all := make(map[string]bool)
	for grown := true; grown; {
		grown = false
		for _, p := range t.Packages {
			for _, f := range p.Files {
				for _, decl := range f.AST.Decls {
					fn, ok := decl.(*ast.FuncDecl)
					if !ok || fn.Body == nil || fn.Recv != nil {
						continue
					}
					key := p.Dir + "." + fn.Name.Name
					if all[key] || !skips(t.Module, p, f, fn.Body, all) {
						continue
					}
					all[key] = true
					grown = true
				}
			}
		}
	}
	return all
}

// skips reports whether a body may skip the test that calls it: functions within it are other tests.
func skips(module string, p *Package, f *File, body *ast.BlockStmt, all map[string]bool) (found bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		if _, ok := n.(*ast.FuncLit); ok {
			return false
		}
		if call, ok := n.(*ast.CallExpr); ok && maySkip(module, p, f, call, all) {
			found = true
		}
		return !found
	})
	return found
}

// maySkip reports whether a call may skip the test.
func maySkip(module string, p *Package, f *File, n *ast.CallExpr, all map[string]bool) bool {
	switch fun := n.Fun.(type) {
	case *ast.Ident:
		return all[p.Dir+"."+fun.Name]
	case *ast.SelectorExpr:
		x, ok := fun.X.(*ast.Ident)
		if !ok {
			return false
		}
		if slices.Contains(testNames, x.Name) {
			return strings.HasPrefix(fun.Sel.Name, "Skip")
		}
		dir := importedDir(module, f, x.Name)
		return dir == needPackage && fun.Sel.Name != "Must" && fun.Sel.Name != "Missing" && fun.Sel.Name != "Packages" || all[dir+"."+fun.Sel.Name]
	}
	return false
}

// importedDir is the folder of a package of this module that a file imports by a name; "" of others.
func importedDir(module string, f *File, name string) string {
	for _, spec := range f.AST.Imports {
		at, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		if spec.Name == nil && path.Base(at) == name || spec.Name != nil && spec.Name.Name == name {
			if dir, ok := strings.CutPrefix(at, module+"/"); ok {
				return dir
			}
		}
	}
	return ""
}

// called is the name of a called function or method.
func called(n *ast.CallExpr) string {
	switch fun := n.Fun.(type) {
	case *ast.Ident:
		return fun.Name
	case *ast.SelectorExpr:
		return fun.Sel.Name
	}
	return ""
}

// importsTesting reports whether a file is for tests.
func importsTesting(f *File) bool {
	return slices.ContainsFunc(f.AST.Imports, func(spec *ast.ImportSpec) bool { return imported(spec) == "testing" })
}
