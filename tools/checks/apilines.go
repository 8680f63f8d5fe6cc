package main

import (
	"fmt"
	"go/types"
	"strings"
)

// A lister writes what a package exports as lines, each of which means something alone, as the files api/*.txt of Go do.
type lister struct {
	own    *types.Package
	module string // its path, with a slash
	lines  []string
}

func (l *lister) add(format string, args ...any) {
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

// qualifier names packages of the module by their folders.
func (l *lister) qualifier(p *types.Package) string {
	if p == l.own {
		return ""
	}
	return strings.TrimPrefix(p.Path(), l.module)
}

func (l *lister) text(t types.Type) string { return types.TypeString(t, l.qualifier) }

// object lists a name of the package.
func (l *lister) object(o types.Object) {
	switch o := o.(type) {
	case *types.Const:
		l.add("const %s %s = %s", o.Name(), l.text(o.Type()), o.Val().ExactString())
	case *types.Var:
		l.add("var %s %s", o.Name(), l.text(o.Type()))
	case *types.Func:
		l.add("func %s%s", o.Name(), l.signature(o.Signature()))
	case *types.TypeName:
		l.typeName(o)
	}
}

// typeName lists a type, its exported fields and its methods. Those of an alias for a type of another package are listed, too:
// programs know them by this name.
func (l *lister) typeName(o *types.TypeName) {
	name := o.Name()
	if alias, ok := o.Type().(*types.Alias); ok {
		l.add("type %s = %s", name, l.text(alias.Rhs()))
	}
	named, ok := types.Unalias(o.Type()).(*types.Named)
	if !ok {
		return
	}
	if named.Obj() != o && named.Obj().Pkg() == l.own {
		return // listed by its own name
	}
	kind := l.text(named.Underlying())
	switch u := named.Underlying().(type) {
	case *types.Struct:
		kind = "struct"
		for i := range u.NumFields() {
			if f := u.Field(i); f.Exported() {
				l.add("type %s struct, %s %s", name, f.Name(), l.text(f.Type()))
			}
		}
	case *types.Interface:
		kind = "interface"
		for i := range u.NumMethods() {
			m := u.Method(i)
			if m.Exported() {
				l.add("type %s interface, %s%s", name, m.Name(), l.signature(m.Signature()))
			} else {
				l.add("type %s interface, unexported methods", name)
			}
		}
	}
	if named.Obj() == o {
		l.add("type %s%s %s", name, l.typeParams(named.TypeParams()), kind)
	}
	if _, ok := named.Underlying().(*types.Interface); !ok {
		l.methods(name, named)
	}
}

// typeParams are the type parameters of a type or function.
func (l *lister) typeParams(list *types.TypeParamList) string {
	var all []string
	for p := range list.TypeParams() {
		all = append(all, p.String()+" "+l.text(p.Constraint()))
	}
	if all == nil {
		return ""
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// signature is what a function takes and returns, without the names of its parameters: programs do not know those.
func (l *lister) signature(f *types.Signature) string {
	params, results := l.tuple(f.Params()), l.tuple(f.Results())
	if f.Variadic() {
		last := len(params) - 1
		params[last] = "..." + strings.TrimPrefix(params[last], "[]")
	}
	text := l.typeParams(f.TypeParams()) + "(" + strings.Join(params, ", ") + ")"
	switch len(results) {
	case 0:
		return text
	case 1:
		return text + " " + results[0]
	}
	return text + " (" + strings.Join(results, ", ") + ")"
}

func (l *lister) tuple(t *types.Tuple) (all []string) {
	for v := range t.Variables() {
		all = append(all, l.text(v.Type()))
	}
	return all
}

// methods lists the exported methods of a type, those of embedded fields included.
func (l *lister) methods(name string, named *types.Named) {
	values := types.NewMethodSet(named)
	pointers := types.NewMethodSet(types.NewPointer(named))
	for m := range pointers.Methods() {
		if !m.Obj().Exported() {
			continue
		}
		receiver := "*" + name
		if values.Lookup(m.Obj().Pkg(), m.Obj().Name()) != nil {
			receiver = name
		}
		l.add("method (%s) %s%s", receiver, m.Obj().Name(), l.signature(m.Type().(*types.Signature)))
	}
}
