package fstest

import (
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/stretchr/testify/require"
)

// treeCases make deep trees and long paths.
var treeCases = Cases{
	one("TreeOf10", func(e *Env) { deep(e, "d", 10) }),
	one("TreeOf39", func(e *Env) { deep(e, "d", 39) }),
	one("TreeOf41", func(e *Env) { deep(e, "d", 41) }),
	one("TreeOf100", func(e *Env) { deep(e, "d", 100) }),
	one("LongPath", func(e *Env) { deep(e, strings.Repeat("p", 250), 14) }),
	one("DotsInPaths", func(e *Env) {
		e.root.mkdir("a")
		e.root.mkdir("a/b")
		e.root.put("a/b/f", text(1, 10))
		e.root.holds("a/./b/./f", text(1, 10))
		e.root.holds("a/b/../b/f", text(1, 10))
		e.root.holds("a/../a/b/f", text(1, 10))
	}),
	one("DoubledSlashes", func(e *Env) {
		e.root.mkdir("a")
		e.root.put("a/f", text(1, 10))
		e.root.holds("a//f", text(1, 10))
		e.root.holds("a///f", text(1, 10))
	}),
	one("MkdirTwice", func(e *Env) {
		e.root.mkdir("d")
		e.fails(e.root.fs.Mkdir(e.at("d"), 0o755), syscall.EEXIST)
		e.root.put("f", nil)
		e.fails(e.root.fs.Mkdir(e.at("f"), 0o755), syscall.EEXIST)
	}),
	one("MkdirDoesNotMakeParents", func(e *Env) {
		e.fails(e.root.fs.Mkdir(e.at("a/b"), 0o755), syscall.ENOENT)
		e.root.absent("a")
	}),
	one("SameNameInManyDirectories", func(e *Env) {
		for i := range 10 {
			d := name("d%d", i)
			e.root.mkdir(d)
			e.root.put(d+"/f", text(uint64(i), 100))
		}
		for i := range 10 {
			e.root.holds(name("d%d/f", i), text(uint64(i), 100))
		}
	}),
	one("ReadDirOfFile", func(e *Env) {
		e.root.put("f", nil)
		_, err := e.root.fs.ReadDir(e.at("f"))
		e.fails(err, syscall.ENOTDIR)
	}),
}

// deep makes nested directories with a file at the end, and removes all.
func deep(e *Env, part string, n int) {
	path := part
	for range n {
		e.root.mkdir(path)
		path += "/" + part
	}
	e.root.put(path, text(1, 100))
	e.root.holds(path, text(1, 100))
	require.Equal(e, []string{part}, e.root.list(path[:strings.LastIndex(path, "/")]))
	for range n {
		e.root.remove(path)
		path = path[:strings.LastIndex(path, "/")]
	}
	e.root.remove(part)
}

// listCases read directories of many sizes, also while they change.
var listCases = func() Cases {
	var out Cases
	for _, n := range []int{0, 1, 2, 31, 32, 33, 100, 101, 511, 512, 513, 1025, 2000} {
		out = append(out, one(name("ListOf%d", n), func(e *Env) { listOf(e, n) }))
	}
	return append(out,
		one("ListTellsKinds", func(e *Env) {
			e.root.put("f", nil)
			e.root.mkdir("d")
			entries, err := e.root.fs.ReadDir(e.dir)
			require.NoError(e, err)
			require.Len(e, entries, 2)
			for _, entry := range entries {
				if entry.Kind != "" {
					require.Equal(e, map[string]Kind{"f": IsFile, "d": IsDir}[entry.Name], entry.Kind)
				}
			}
		}),
		one("ListAfterRemoval", func(e *Env) {
			want := fill(e, 600)
			for i := 0; i < len(want); i += 2 {
				e.root.remove(want[i])
			}
			var left []string
			for i := 1; i < len(want); i += 2 {
				left = append(left, want[i])
			}
			require.Equal(e, left, e.root.list("."))
		}),
		one("ListAfterRenames", func(e *Env) {
			old := fill(e, 300)
			var want []string
			for _, name := range old {
				e.root.rename(name, "new-"+name)
				want = append(want, "new-"+name)
			}
			require.Equal(e, want, e.root.list("."))
		}),
		one("ListWhileNamesCome", func(e *Env) {
			listWhile(e, func(i int) error { return e.root.fs.Mkdir(e.at(name("new%03d", i)), 0o755) })
		}),
		one("ListWhileNamesGo", func(e *Env) {
			for i := range changes {
				e.root.mkdir(name("new%03d", i))
			}
			listWhile(e, func(i int) error { return e.root.fs.Remove(e.at(name("new%03d", i))) })
		}),
		one("ListLongNames", func(e *Env) {
			var want []string
			for i := range 150 {
				n := strings.Repeat("n", 250) + name("%05d", i)
				e.root.mkdir(n)
				want = append(want, n)
			}
			require.Equal(e, want, e.root.list("."))
		}),
	)
}()

// fill makes n directories with short names, and returns the names sorted.
func fill(e *Env, n int) []string {
	e.Helper()
	names := make([]string, 0, n)
	for i := range n {
		names = append(names, name("entry%05d", i*7919%100003))
	}
	var all sync.WaitGroup
	errs := make([]error, 4)
	for part := range errs {
		all.Go(func() {
			for i := part; i < n && errs[part] == nil; i += len(errs) {
				errs[part] = e.root.fs.Mkdir(e.at(names[i]), 0o755)
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		require.NoError(e, err)
	}
	slices.Sort(names)
	return names
}

func listOf(e *Env, n int) {
	want := fill(e, n)
	require.Equal(e, want, e.root.list("."))
	if n > 0 {
		e.fails(e.root.fs.Remove(e.dir), syscall.ENOTEMPTY, syscall.EEXIST)
		for _, i := range []int{0, n / 2, n - 1} {
			require.Equal(e, IsDir, e.root.lstat(want[i]).Kind)
			e.fails(e.root.fs.Mkdir(e.at(want[i]), 0o755), syscall.EEXIST)
		}
	}
}

// changes is how many names are added or removed during a listing.
const changes = 150

// listWhile lists a directory while it changes. An entry that exists throughout must be listed each time, exactly once.
func listWhile(e *Env, change func(i int) error) {
	const staying = 600
	for i := range staying {
		e.root.mkdir(name("stay%03d", i))
	}
	var failed error
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; i < changes && failed == nil; i++ {
			failed = change(i)
		}
	}()
	for more := true; more; {
		select {
		case <-done:
			more = false
		default:
		}
		var stayed int
		for _, entry := range e.root.list(".") {
			if strings.HasPrefix(entry, "stay") {
				stayed++
			}
		}
		if stayed != staying {
			<-done
			e.Errorf("%d of %d names listed that were there all the time", stayed, staying)
			e.FailNow()
		}
	}
	require.NoError(e, failed)
}
