package fstest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/stretchr/testify/require"
)

// workers is the number of parallel workers.
const workers = 8

// parallelCases run operations in parallel.
var parallelCases = func() Cases {
	var out Cases
	for _, block := range []int{1000, 6768, 20000, strip, strip + 1000, 4 * strip} {
		out = append(out,
			one(name("WritersOfBlocksOf%d", block), func(e *Env) { writers(e, block, false) }),
			one(name("WritersWithOneHandleOfBlocksOf%d", block), func(e *Env) { writers(e, block, true) }),
			one(name("ReadersOfBlocksOf%d", block), func(e *Env) { readers(e, block) }),
		)
	}
	return append(out, Cases{
		one("CreateTheSameFile", func(e *Env) {
			wins := e.race(func(int) error { return e.root.try("f", os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644) }, syscall.EEXIST)
			require.Equal(e, 1, wins, "one of them creates it")
			require.Equal(e, []string{"f"}, e.root.list("."))
		}),
		one("MkdirTheSame", func(e *Env) {
			wins := e.race(func(int) error { return e.root.fs.Mkdir(e.at("d"), 0o755) }, syscall.EEXIST)
			require.Equal(e, 1, wins)
		}),
		one("RemoveTheSame", func(e *Env) {
			e.root.put("f", text(1, 100000))
			wins := e.race(func(int) error { return e.root.fs.Remove(e.at("f")) }, syscall.ENOENT)
			require.Equal(e, 1, wins)
			require.Empty(e, e.root.list("."))
		}),
		one("RenameTheSame", func(e *Env) {
			e.root.put("f", text(1, 100))
			wins := e.race(func(i int) error { return e.root.fs.Rename(e.at("f"), e.at(name("g%d", i))) }, syscall.ENOENT)
			require.GreaterOrEqual(e, wins, 1)
			left := e.root.list(".")
			require.Len(e, left, 1, "the file has one name")
			e.root.holds(left[0], text(1, 100))
		}),
		one("CreateTheSameWithoutExclusive", func(e *Env) {
			wins := e.race(func(int) error { return e.root.try("f", os.O_RDWR|os.O_CREATE, 0o644) })
			require.Equal(e, workers, wins)
			require.Equal(e, []string{"f"}, e.root.list("."))
		}),
		one("CreateManyInOneDirectory", func(e *Env) {
			e.race(func(i int) error {
				for k := range 40 {
					if err := e.root.try(name("f%d-%d", i, k), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644); err != nil {
						return err
					}
				}
				return nil
			})
			require.Len(e, e.root.list("."), workers*40)
		}),
		one("CreateAndRemoveInOneDirectory", func(e *Env) {
			e.race(func(i int) error {
				for k := range 25 {
					n := e.at(name("f%d-%d", i, k))
					if err := errors.Join(e.root.fs.Mkdir(n, 0o755), e.root.fs.Rename(n, n+"x"), e.root.fs.Remove(n+"x")); err != nil {
						return err
					}
				}
				return nil
			})
			require.Empty(e, e.root.list("."))
		}),
		one("FilesOfEachTheirOwn", func(e *Env) {
			e.race(func(i int) error {
				n := name("f%d", i)
				f, err := e.root.fs.Open(e.at(n), os.O_RDWR|os.O_CREATE, 0o644)
				if err != nil {
					return err
				}
				_, err = f.WriteAt(text(uint64(i), 150000+i), 0)
				return errors.Join(err, f.Close())
			})
			for i := range workers {
				e.root.holds(name("f%d", i), text(uint64(i), 150000+i))
			}
		}),
		one("GrowTheSameFile", func(e *Env) {
			// All workers find the file small, and each needs it large.
			e.root.put("f", text(0, 10))
			e.race(func(i int) error {
				f, err := e.root.fs.Open(e.at("f"), os.O_RDWR, 0)
				if err != nil {
					return err
				}
				_, err = f.WriteAt(text(uint64(i), strip), int64((i+1)*strip))
				return errors.Join(err, f.Close())
			})
			want := make([]byte, (workers+1)*strip)
			copy(want, text(0, 10))
			for i := range workers {
				copy(want[(i+1)*strip:], text(uint64(i), strip))
			}
			e.root.holds("f", want)
		}),
		one("RenameIntoEachOther", renameIntoEachOther),
		one("RenameOverWhileReading", renameOverWhileReading),
	}...)
}()

// race runs fn in all workers at once, and returns how many succeed. The others may fail only with the allowed errors.
func (e *Env) race(fn func(i int) error, allowed ...syscall.Errno) int {
	e.Helper()
	errs := make([]error, workers)
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() {
			<-start
			errs[i] = fn(i)
		})
	}
	close(start)
	all.Wait()
	wins := 0
	for i, err := range errs {
		if err == nil {
			wins++
			continue
		}
		if len(allowed) == 0 {
			require.NoError(e, err, "worker %d", i)
		}
		e.fails(err, allowed...)
	}
	return wins
}

// writers fill one file. Worker i writes every block whose number is i modulo workers.
func writers(e *Env, block int, share bool) {
	const each = 3
	first := e.root.open("f", os.O_RDWR|os.O_CREATE, 0o644)
	e.race(func(i int) (err error) {
		f := first
		if !share {
			if f, err = e.root.fs.Open(e.at("f"), os.O_WRONLY, 0); err != nil {
				return err
			}
			defer func() { err = errors.Join(err, f.Close()) }()
		}
		for k := range each {
			at := k*workers + i
			n, err := f.WriteAt(text(uint64(at), block), int64(at*block))
			if err != nil || n != block {
				return fmt.Errorf("wrote %d of %d bytes: %w", n, block, err)
			}
		}
		return nil
	})
	want := make([]byte, 0, each*workers*block)
	for at := range each * workers {
		want = append(want, text(uint64(at), block)...)
	}
	e.readAt(first, 0, want)
	e.root.holds("f", want)
}

func readers(e *Env, block int) {
	want := text(1, workers*block+17)
	e.root.put("f", want)
	f := e.root.open("f", os.O_RDONLY, 0)
	e.race(func(i int) error {
		got := make([]byte, block+17)
		n, err := f.ReadAt(got, int64(i*block))
		if err != nil && !errors.Is(err, io.EOF) || n != len(got) {
			return fmt.Errorf("read %d of %d bytes: %w", n, len(got), err)
		}
		if string(got) != string(want[i*block:][:len(got)]) {
			return errors.New("read something else than was written")
		}
		return nil
	})
}

// renameIntoEachOther: if two directories are moved into each other at once, at most one move may succeed.
func renameIntoEachOther(e *Env) {
	for range 10 {
		e.root.mkdir("a")
		e.root.mkdir("b")
		errs := make([]error, 2)
		var all sync.WaitGroup
		all.Go(func() { errs[0] = e.root.fs.Rename(e.at("a"), e.at("b/a")) })
		all.Go(func() { errs[1] = e.root.fs.Rename(e.at("b"), e.at("a/b")) })
		all.Wait()
		if errs[0] == nil && errs[1] == nil {
			e.Errorf("both directories went into each other, and are lost")
			e.FailNow()
		}
		for _, name := range e.root.list(".") {
			require.NoError(e, removeAll(e.root.fs, e.at(name)))
		}
	}
}

// renameOverWhileReading: a name that is replaced repeatedly always exists, and always has one of its contents.
func renameOverWhileReading(e *Env) {
	e.root.put("f", text(0, 100))
	var done atomic.Bool
	failed := make(chan error, 1)
	go func() {
		defer done.Store(true)
		for i := range 30 {
			n := e.at(name("new%d", i))
			f, err := e.root.fs.Open(n, os.O_WRONLY|os.O_CREATE, 0o644)
			if err == nil {
				_, err = f.WriteAt(text(0, 100), 0)
				err = errors.Join(err, f.Close(), e.root.fs.Rename(n, e.at("f")))
			}
			if err != nil {
				failed <- err
				return
			}
		}
		failed <- nil
	}()
	var missing error
	for !done.Load() && missing == nil {
		_, missing = e.root.fs.Stat(e.at("f"))
	}
	require.NoError(e, <-failed)
	require.NoError(e, missing, "the name is there all the time")
	e.root.holds("f", text(0, 100))
}
