package fstest

import (
	"os"
	"time"

	"github.com/stretchr/testify/require"
)

// timeCases set times, and check those that were not set. Times are compared in seconds, and past and present times are far
// apart, so clocks need not be exact.
var timeCases = append(func() Cases {
	var out Cases
	for _, at := range []int64{1, 86400, 1_000_000_000, 1<<31 - 1, 1 << 31, 4_000_000_000} {
		out = append(out, one(name("TimeSetTo%d", at), func(e *Env) {
			e.root.put("f", nil)
			e.root.mkdir("d")
			for _, name := range []string{"f", "d"} {
				when := time.Unix(at, 0)
				require.NoError(e, e.root.fs.Chtimes(e.at(name), when, when))
				info := e.root.lstat(name)
				require.Equal(e, at, info.Modified.Unix(), name)
				require.Equal(e, at, info.Accessed.Unix(), name)
			}
		}))
	}
	return out
}(), Cases{
	one("TimesOfNewObjects", func(e *Env) {
		e.root.put("f", nil)
		e.root.mkdir("d")
		for _, name := range []string{"f", "d"} {
			info := e.root.lstat(name)
			e.recent(info.Modified, "modified "+name)
			e.recent(info.Change, "change of "+name)
			e.recent(info.Accessed, "accessed "+name)
		}
	}),
	one("TimesOneByOne", func(e *Env) {
		e.root.put("f", nil)
		require.NoError(e, e.root.fs.Chtimes(e.at("f"), time.Unix(1000, 0), time.Unix(2000, 0)))
		require.NoError(e, e.root.fs.Chtimes(e.at("f"), time.Time{}, time.Unix(3000, 0)))
		info := e.root.lstat("f")
		require.EqualValues(e, 1000, info.Accessed.Unix())
		require.EqualValues(e, 3000, info.Modified.Unix())
		require.NoError(e, e.root.fs.Chtimes(e.at("f"), time.Unix(4000, 0), time.Time{}))
		info = e.root.lstat("f")
		require.EqualValues(e, 4000, info.Accessed.Unix())
		require.EqualValues(e, 3000, info.Modified.Unix())
		e.recent(info.Change, "change of f")
	}),
	one("TimesStayWhenNothingHappens", func(e *Env) {
		e.root.put("f", text(1, 100))
		require.NoError(e, e.root.fs.Chtimes(e.at("f"), someTime, someTime))
		e.root.chmod("f", 0o600)
		e.root.get("f")
		e.root.rename("f", "g")
		require.Equal(e, someTime.Unix(), e.root.lstat("g").Modified.Unix())
	}),
	{"TimeMovesWithWrite", []Ability{FileTimes}, func(e *Env) {
		e.old("f", func() {
			f := e.root.open("f", os.O_WRONLY, 0)
			e.writeAt(f, 0, text(1, 10))
			require.NoError(e, f.Close())
		})
	}},
	{"TimeMovesWithLargeWrite", []Ability{FileTimes}, func(e *Env) {
		e.old("f", func() {
			f := e.root.open("f", os.O_WRONLY, 0)
			e.writeAt(f, 0, text(1, 300000))
			require.NoError(e, f.Close())
		})
	}},
	{"TimeMovesWithTruncate", []Ability{FileTimes}, func(e *Env) {
		e.old("f", func() { e.root.truncate("f", 5) })
	}},
	{"TimeMovesWithOpenTruncate", []Ability{FileTimes}, func(e *Env) {
		e.old("f", func() { require.NoError(e, e.root.try("f", os.O_WRONLY|os.O_TRUNC, 0)) })
	}},
	{"TimeSetAfterWriteStays", []Ability{FileTimes}, func(e *Env) {
		e.root.put("f", text(1, 1000))
		require.NoError(e, e.root.fs.Chtimes(e.at("f"), someTime, someTime))
		e.root.get("f")
		require.Equal(e, someTime.Unix(), e.root.lstat("f").Modified.Unix())
	}},
	{"TimeOfDirectoryMovesWithCreate", []Ability{DirTimes}, func(e *Env) {
		e.root.mkdir("d")
		e.oldDir("d", func() { e.root.put("d/f", nil) })
		e.oldDir("d", func() { e.root.mkdir("d/e") })
	}},
	{"TimeOfDirectoryMovesWithRemove", []Ability{DirTimes}, func(e *Env) {
		e.root.mkdir("d")
		e.root.put("d/f", nil)
		e.root.mkdir("d/e")
		e.oldDir("d", func() { e.root.remove("d/f") })
		e.oldDir("d", func() { e.root.remove("d/e") })
	}},
	{"TimeOfDirectoryMovesWithRename", []Ability{DirTimes}, func(e *Env) {
		e.root.mkdir("d")
		e.root.mkdir("e")
		e.root.put("d/f", nil)
		e.oldDir("d", func() { e.root.rename("d/f", "e/f") })
		e.oldDir("e", func() { e.root.rename("e/f", "d/f") })
	}},
}...)

// now and old times are years apart.
const nearby = 24 * time.Hour

func (e *Env) recent(when time.Time, what string) {
	e.Helper()
	require.Less(e, time.Since(when).Abs(), nearby, "%s: %v", what, when)
}

// old makes a file with an old mtime, and requires that fn updates it.
func (e *Env) old(name string, fn func()) {
	e.Helper()
	e.root.put(name, text(1, 100))
	e.oldDir(name, fn)
}

func (e *Env) oldDir(name string, fn func()) {
	e.Helper()
	require.NoError(e, e.root.fs.Chtimes(e.at(name), someTime, someTime))
	require.Equal(e, someTime.Unix(), e.root.lstat(name).Modified.Unix())
	fn()
	e.recent(e.root.lstat(name).Modified, "modified "+name)
}
