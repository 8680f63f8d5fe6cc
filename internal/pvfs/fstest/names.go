package fstest

import (
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/stretchr/testify/require"
)

// oddNames are names that a careless program handles wrongly.
var oddNames = []struct{ what, name string }{
	{"Short", "x"},
	{"Space", " "},
	{"Spaces", "  a  b  "},
	{"Newline", "a\nb"},
	{"Tab", "a\tb"},
	{"Dash", "-rf"},
	{"Star", "*?[a]"},
	{"Backslash", `a\b`},
	{"Quotes", `"'` + "`"},
	{"Dots", "..."},
	{"Hidden", ".hidden"},
	{"DotAtTheEnd", "a."},
	{"TildeAndDollar", "~$HOME"},
	{"Percent", "%s%n%d"},
	{"Colon", "c:d"},
	{"UTF8", "Grüße-日本語-🎉"},
	{"Combining", "e\u0301"},
	{"Latin1", "caf\xe9"},
	{"BrokenUTF8", "\xff\xfe\x80"},
	{"Control", "\x01\x02\x1f\x7f"},
	{"UpperAndLower", "aBcD"},
	{"Of254", strings.Repeat("n", 254)},
	{"Of255", strings.Repeat("m", 255)},
	{"Of255InUTF8", strings.Repeat("ü", 127) + "x"},
}

// nameCases try each of the names for each kind of object, and then all byte values.
var nameCases = func() Cases {
	var out Cases
	for _, kind := range []struct {
		name string
		kind Kind
	}{{"File", IsFile}, {"Directory", IsDir}, {"Symlink", IsSymlink}} {
		for _, odd := range oddNames {
			c := one("Name"+odd.what+"Of"+kind.name, func(e *Env) { nameLives(e, odd.name, kind.kind) })
			if kind.kind == IsSymlink {
				c.Needs = []Ability{Symlinks}
			}
			out = append(out, c)
		}
	}
	return append(out,
		one("NamesOfEveryByte", namesOfEveryByte),
		one("NamesDifferInCase", func(e *Env) { namesApart(e, "name", "Name", "NAME") }),
		one("NamesAreNotNormalised", func(e *Env) { namesApart(e, "\u00e9", "e\u0301") }),
		one("NamesWithCommonPrefix", func(e *Env) {
			namesApart(e, "a", "aa", "aaa", strings.Repeat("a", 254), strings.Repeat("a", 255))
		}),
		one("NameOf256", func(e *Env) {
			long := strings.Repeat("n", 256)
			e.fails(e.root.try(long, os.O_CREATE|os.O_RDWR, 0o644), syscall.ENAMETOOLONG)
			require.Empty(e, e.root.list("."))
		}),
		one("NameOf1000", func(e *Env) {
			e.fails(e.root.fs.Mkdir(e.at(strings.Repeat("n", 1000)), 0o755), syscall.ENAMETOOLONG)
			require.Empty(e, e.root.list("."))
		}),
	)
}()

// make makes an object of a kind.
func (a *actor) make(name string, kind Kind) {
	a.Helper()
	switch kind {
	case IsFile:
		a.put(name, []byte("contents of it"))
	case IsDir:
		a.mkdir(name)
	case IsSymlink:
		a.symlink("where it leads", name)
	}
}

// nameLives tests all operations on an object with this name.
func nameLives(e *Env, odd string, kind Kind) {
	e.root.make(odd, kind)
	require.Equal(e, kind, e.root.lstat(odd).Kind)
	require.Equal(e, []string{odd}, e.root.list("."))
	e.fails(e.root.fs.Mkdir(e.at(odd), 0o755), syscall.EEXIST)
	e.root.rename(odd, "plain")
	e.root.absent(odd)
	e.root.rename("plain", odd)
	require.Equal(e, []string{odd}, e.root.list("."))
	if kind == IsDir {
		e.root.put(odd+"/"+odd, []byte("below"))
		e.root.holds(odd+"/"+odd, []byte("below"))
		e.root.remove(odd + "/" + odd)
	}
	e.root.remove(odd)
	e.root.absent(odd)
	require.Empty(e, e.root.list("."))
}

func namesApart(e *Env, names ...string) {
	for i, name := range names {
		e.root.put(name, text(uint64(i), 30))
	}
	want := slices.Clone(names)
	slices.Sort(want)
	require.Equal(e, want, e.root.list("."))
	for i, name := range names {
		e.root.holds(name, text(uint64(i), 30))
		e.root.remove(name)
	}
}

func namesOfEveryByte(e *Env) {
	var want []string
	for b := 1; b < 256; b++ {
		if b == '/' {
			continue
		}
		name := "b" + string([]byte{byte(b)})
		e.root.mkdir(name)
		want = append(want, name)
	}
	slices.Sort(want)
	require.Equal(e, want, e.root.list("."))
}
