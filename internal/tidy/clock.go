package tidy

import (
	"go/ast"
	"go/constant"
	"go/token"
	"slices"
	"strings"
	"time"
)

// patienceMin is the shortest time that a test may wait for an event: only a broken program
// takes that long.
const patienceMin = time.Minute

// clock: no test fails because something was slow, unless it was so slow that it must hang. On a
// busy machine anything may take any time; wallclock.Under is for things that should be fast. A
// wait without end must not depend on how the test was compiled.
func clock(t *Tree) (problems []Problem) {
	for _, p := range t.Packages {
		if p.Dir == "internal/wallclock" {
			continue
		}
		for _, f := range p.Files {
			if !f.Test {
				continue
			}
			for _, decl := range f.AST.Decls {
				if fn, ok := decl.(*ast.FuncDecl); ok && fn.Body != nil && !calls(fn.Body, "synctest", "Test") {
					c := &clockCheck{t: t, p: p, f: f, measured: measured(fn.Body)}
					ast.Inspect(fn.Body, c.visit)
					problems = append(problems, c.problems...)
				}
			}
		}
	}
	return problems
}

// A clockCheck checks one function.
type clockCheck struct {
	t        *Tree
	p        *Package
	f        *File
	measured map[string]bool // variables that hold a measured time
	problems []Problem
}

func (c *clockCheck) say(at token.Pos, format string, args ...any) {
	c.problems = append(c.problems, c.t.problem(c.f, at, format, args...))
}

func (c *clockCheck) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.CallExpr:
		c.call(n)
	case *ast.IfStmt:
		if cond, ok := n.Cond.(*ast.BinaryExpr); ok && failsTest(n.Body) {
			switch {
			case (cond.Op == token.GTR || cond.Op == token.GEQ) && c.took(cond.X) && !c.patient(cond.Y),
				(cond.Op == token.LSS || cond.Op == token.LEQ) && c.took(cond.Y) && !c.patient(cond.X):
				c.say(cond.Pos(), "the test fails if something takes long: use internal/wallclock")
			}
		}
	case *ast.SelectStmt:
		if len(n.Body.List) == 0 {
			c.say(n.Pos(), "without cgo, Go ends a process that blocks like this: use wallclock.Forever")
		}
	}
	return true
}

// call checks an assertion.
func (c *clockCheck) call(n *ast.CallExpr) {
	sel, ok := n.Fun.(*ast.SelectorExpr)
	if !ok {
		return
	}
	// Methods of *assert.Assertions have no t; nobody here uses them.
	if x, ok := sel.X.(*ast.Ident); !ok || x.Name != "assert" && x.Name != "require" || len(n.Args) < 3 {
		return
	}
	name := strings.TrimSuffix(sel.Sel.Name, "f")
	switch {
	case (name == "Less" || name == "LessOrEqual") && c.took(n.Args[1]) && !c.patient(n.Args[2]),
		(name == "Greater" || name == "GreaterOrEqual") && c.took(n.Args[2]) && !c.patient(n.Args[1]),
		(name == "InDelta" || name == "WithinDuration") && (c.took(n.Args[1]) || c.took(n.Args[2])):
		c.say(n.Pos(), "the test fails if something takes long: use internal/wallclock")
	case strings.HasPrefix(name, "Eventually") && !c.patient(n.Args[2]):
		c.say(n.Pos(), "the test gives up after less than %v: wait for wallclock.Patience", patienceMin)
	}
}

// took reports whether an expression is a measured time.
func (c *clockCheck) took(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return c.measured[e.Name]
	case *ast.BinaryExpr:
		return c.took(e.X) || c.took(e.Y)
	case *ast.ParenExpr:
		return c.took(e.X)
	case *ast.CallExpr:
		return isSince(e)
	}
	return false
}

// patient reports whether a limit is long enough. A limit that cannot be computed here is
// assumed to be.
func (c *clockCheck) patient(e ast.Expr) bool {
	v, ok := c.p.value(e, 0)
	return !ok || constant.Compare(v, token.GEQ, constant.MakeInt64(int64(patienceMin)))
}

// measured finds the variables that a function sets to a time since some moment.
func measured(body *ast.BlockStmt) map[string]bool {
	names := make(map[string]bool)
	ast.Inspect(body, func(n ast.Node) bool {
		as, ok := n.(*ast.AssignStmt)
		if !ok || len(as.Lhs) != len(as.Rhs) {
			return true
		}
		for i, lhs := range as.Lhs {
			var found bool
			ast.Inspect(as.Rhs[i], func(n ast.Node) bool {
				_, inner := n.(*ast.FuncLit)
				call, ok := n.(*ast.CallExpr)
				found = found || ok && isSince(call)
				return !inner
			})
			if name, ok := lhs.(*ast.Ident); ok && found {
				names[name.Name] = true
			}
		}
		return true
	})
	return names
}

// isSince reports whether a call is time.Since.
func isSince(e *ast.CallExpr) bool { return isCall(e, "time", "Since") }

// isCall reports whether a call is that of a function of a package.
func isCall(e *ast.CallExpr, pkg, name string) bool {
	sel, ok := e.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := sel.X.(*ast.Ident)
	return ok && x.Name == pkg && sel.Sel.Name == name
}

// failsTest reports whether a block fails the test.
func failsTest(body *ast.BlockStmt) (found bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			found = found || slices.Contains([]string{"Fatal", "Fatalf", "Error", "Errorf", "Fail", "FailNow", "Failf", "FailNowf"}, sel.Sel.Name)
		}
		return !found
	})
	return found
}

// calls reports whether a block calls a function of a package.
func calls(body *ast.BlockStmt, pkg, name string) (found bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == name {
			x, ok := sel.X.(*ast.Ident)
			found = found || ok && x.Name == pkg
		}
		return !found
	})
	return found
}

// units are the durations of package time.
var units = map[string]time.Duration{
	"Nanosecond": time.Nanosecond, "Microsecond": time.Microsecond, "Millisecond": time.Millisecond,
	"Second": time.Second, "Minute": time.Minute, "Hour": time.Hour,
}

// value computes an expression of numbers, units of time, and constants of the package.
func (p *Package) value(e ast.Expr, depth int) (constant.Value, bool) {
	if depth > 16 {
		return nil, false
	}
	switch e := e.(type) {
	case *ast.BasicLit:
		v := constant.MakeFromLiteral(e.Value, e.Kind, 0)
		return v, v.Kind() == constant.Int || v.Kind() == constant.Float
	case *ast.ParenExpr:
		return p.value(e.X, depth+1)
	case *ast.SelectorExpr:
		if x, ok := e.X.(*ast.Ident); ok && x.Name == "time" && units[e.Sel.Name] != 0 {
			return constant.MakeInt64(int64(units[e.Sel.Name])), true
		}
	case *ast.Ident:
		if named := p.constant(e.Name); named != nil {
			return p.value(named, depth+1)
		}
	case *ast.BinaryExpr:
		x, ok := p.value(e.X, depth+1)
		y, also := p.value(e.Y, depth+1)
		if ok && also && slices.Contains([]token.Token{token.ADD, token.SUB, token.MUL}, e.Op) {
			return constant.BinaryOp(x, e.Op, y), true
		}
	}
	return nil, false
}

// constant is the declaration of a constant of the package; nil if there is none.
func (p *Package) constant(name string) ast.Expr {
	for _, f := range p.Files {
		for _, decl := range f.AST.Decls {
			gen, ok := decl.(*ast.GenDecl)
			if !ok || gen.Tok != token.CONST {
				continue
			}
			for _, spec := range gen.Specs {
				values := spec.(*ast.ValueSpec)
				for i, n := range values.Names {
					if n.Name == name && i < len(values.Values) {
						return values.Values[i]
					}
				}
			}
		}
	}
	return nil
}
