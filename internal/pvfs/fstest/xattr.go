package fstest

import (
	"bytes"
	"slices"
	"strings"
	"syscall"

	"github.com/stretchr/testify/require"
)

// xattrCases test extended attributes.
var xattrCases = needing(append(func() Cases {
	var out Cases
	for _, n := range []int{0, 1, 100, 255, 256, 4096, 8191, 8192} {
		out = append(out, one(name("XattrOf%d", n), func(e *Env) {
			e.root.put("f", nil)
			value := text(1, n)
			e.setx("f", "user.key", value, 0)
			e.hasx("f", "user.key", value)
		}))
	}
	for _, kind := range []Kind{IsFile, IsDir} {
		out = append(out, one("XattrLifeOn"+strings.ToUpper(string(kind[:1]))+string(kind[1:]), func(e *Env) { xattrLife(e, kind) }))
	}
	return out
}(), Cases{
	one("XattrTooLarge", func(e *Env) {
		e.root.put("f", nil)
		e.setx("f", "user.key", []byte("old"), 0)
		err := e.root.fs.Setxattr(e.at("f"), "user.key", text(1, 8193), 0)
		e.fails(err, syscall.E2BIG, syscall.ERANGE, syscall.EINVAL, syscall.ENOSPC, syscall.EMSGSIZE)
		e.hasx("f", "user.key", []byte("old"))
	}),
	one("XattrKeyOf255", func(e *Env) {
		e.root.put("f", nil)
		key := "user." + strings.Repeat("k", 250)
		e.setx("f", key, []byte("v"), 0)
		e.hasx("f", key, []byte("v"))
		require.Equal(e, []string{key}, e.keys("f"))
	}),
	one("XattrKeyTooLong", func(e *Env) {
		e.root.put("f", nil)
		err := e.root.fs.Setxattr(e.at("f"), "user."+strings.Repeat("k", 251), []byte("v"), 0)
		e.fails(err, syscall.ERANGE, syscall.ENAMETOOLONG, syscall.EINVAL, syscall.E2BIG)
		require.Empty(e, e.keys("f"))
	}),
	one("XattrOddValues", func(e *Env) {
		e.root.put("f", nil)
		for _, v := range []string{"\x00", "a\x00b", "\xff\xff", "ends with zero\x00", "日本"} {
			e.setx("f", "user.k", []byte(v), 0)
			e.hasx("f", "user.k", []byte(v))
		}
	}),
	one("XattrOddKeys", func(e *Env) {
		e.root.put("f", nil)
		keys := []string{"user. ", "user.a.b.c", "user.UPPER", "user.日本", "user.x/y"}
		for i, k := range keys {
			e.setx("f", k, text(uint64(i), 20), 0)
		}
		for i, k := range keys {
			e.hasx("f", k, text(uint64(i), 20))
		}
		slices.Sort(keys)
		require.Equal(e, keys, e.keys("f"))
	}),
	one("XattrCreateOnly", func(e *Env) {
		e.root.put("f", nil)
		e.setx("f", "user.k", []byte("1"), XattrCreate)
		e.fails(e.root.fs.Setxattr(e.at("f"), "user.k", []byte("2"), XattrCreate), syscall.EEXIST)
		e.hasx("f", "user.k", []byte("1"))
	}),
	one("XattrReplaceOnly", func(e *Env) {
		e.root.put("f", nil)
		e.fails(e.root.fs.Setxattr(e.at("f"), "user.k", []byte("1"), XattrReplace), syscall.ENODATA, syscall.ENOENT)
		require.Empty(e, e.keys("f"))
		e.setx("f", "user.k", []byte("1"), 0)
		e.setx("f", "user.k", []byte("22"), XattrReplace)
		e.hasx("f", "user.k", []byte("22"))
	}),
	one("XattrAbsent", func(e *Env) {
		e.root.put("f", nil)
		_, err := e.root.fs.Getxattr(e.at("f"), "user.none")
		e.fails(err, syscall.ENODATA)
		e.fails(e.root.fs.Removexattr(e.at("f"), "user.none"), syscall.ENODATA)
		require.Empty(e, e.keys("f"))
	}),
	one("XattrsMany", func(e *Env) {
		e.root.put("f", nil)
		var want []string
		for i := range 100 {
			k := name("user.key%03d", i)
			e.setx("f", k, text(uint64(i), i), 0)
			want = append(want, k)
		}
		require.Equal(e, want, e.keys("f"))
		for i, k := range want {
			e.hasx("f", k, text(uint64(i), i))
		}
	}),
	one("XattrsOfLongKeys", func(e *Env) {
		e.root.put("f", nil)
		var want []string
		for i := range 30 {
			k := "user." + strings.Repeat("k", 240) + name("%03d", i)
			e.setx("f", k, []byte{byte(i)}, 0)
			want = append(want, k)
		}
		require.Equal(e, want, e.keys("f"))
	}),
	one("XattrsFollowRename", func(e *Env) {
		e.root.put("f", nil)
		e.setx("f", "user.k", []byte("v"), 0)
		e.root.rename("f", "g")
		e.hasx("g", "user.k", []byte("v"))
		e.root.put("f", nil)
		require.Empty(e, e.keys("f"))
	}),
	one("XattrsGoWithFile", func(e *Env) {
		e.root.put("f", nil)
		e.setx("f", "user.k", []byte("v"), 0)
		e.root.remove("f")
		e.root.put("f", nil)
		require.Empty(e, e.keys("f"))
	}),
	{"XattrThroughSymlink", []Ability{Symlinks}, func(e *Env) {
		e.root.put("f", nil)
		e.root.symlink("f", "l")
		e.setx("l", "user.k", []byte("v"), 0)
		e.hasx("f", "user.k", []byte("v"))
	}},
	one("XattrsApart", func(e *Env) {
		for i := range 10 {
			e.root.put(name("f%d", i), nil)
			e.setx(name("f%d", i), "user.k", text(uint64(i), 10), 0)
		}
		for i := range 10 {
			e.hasx(name("f%d", i), "user.k", text(uint64(i), 10))
		}
	}),
	{"XattrOfOthers", []Ability{Users}, func(e *Env) {
		a, c := e.as(userA), e.as(userC)
		a.put("f", nil)
		require.NoError(e, a.fs.Setxattr(a.at("f"), "user.k", []byte("v"), 0))
		e.denied(c.fs.Setxattr(c.at("f"), "user.k", []byte("w"), 0))
		e.denied(c.fs.Removexattr(c.at("f"), "user.k"))
		e.hasx("f", "user.k", []byte("v"))
	}},
}...), Xattrs)

func xattrLife(e *Env, kind Kind) {
	e.root.make("x", kind)
	require.Empty(e, e.keys("x"))
	e.setx("x", "user.a", []byte("1"), 0)
	e.setx("x", "user.b", []byte("2"), 0)
	e.setx("x", "user.a", []byte("longer than before"), 0)
	e.hasx("x", "user.a", []byte("longer than before"))
	require.Equal(e, []string{"user.a", "user.b"}, e.keys("x"))
	require.NoError(e, e.root.fs.Removexattr(e.at("x"), "user.a"))
	require.Equal(e, []string{"user.b"}, e.keys("x"))
	_, err := e.root.fs.Getxattr(e.at("x"), "user.a")
	e.fails(err, syscall.ENODATA)
	e.hasx("x", "user.b", []byte("2"))
}

func (e *Env) setx(name, key string, value []byte, flag int) {
	e.Helper()
	require.NoError(e, e.root.fs.Setxattr(e.at(name), key, value, flag), "set %.60q of %d bytes", key, len(value))
}

func (e *Env) hasx(name, key string, want []byte) {
	e.Helper()
	got, err := e.root.fs.Getxattr(e.at(name), key)
	require.NoError(e, err, "get %.60q", key)
	if !bytes.Equal(want, got) {
		e.Errorf("%.60q has the value %.80q, want %.80q", key, got, want)
		e.FailNow()
	}
}

func (e *Env) keys(name string) []string {
	e.Helper()
	keys, err := e.root.fs.Listxattr(e.at(name))
	require.NoError(e, err)
	slices.Sort(keys)
	return keys
}
