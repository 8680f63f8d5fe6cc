package fstest

import (
	"io"
	"os"
	"syscall"

	"github.com/stretchr/testify/require"
)

// basicCases test the most common operations.
var basicCases = Cases{
	one("CreateFile", func(e *Env) {
		e.root.put("f", nil)
		info := e.root.lstat("f")
		require.Equal(e, IsFile, info.Kind)
		require.Zero(e, info.Size)
		require.EqualValues(e, 0o644, info.Mode)
		require.Equal(e, []string{"f"}, e.root.list("."))
	}),
	one("WriteAndRead", func(e *Env) {
		e.root.put("f", text(1, 1000))
		e.root.holds("f", text(1, 1000))
	}),
	one("MakeDirectory", func(e *Env) {
		e.root.mkdir("d")
		info := e.root.lstat("d")
		require.Equal(e, IsDir, info.Kind)
		require.EqualValues(e, 0o755, info.Mode)
		require.Empty(e, e.root.list("d"))
	}),
	one("FileInDirectory", func(e *Env) {
		e.root.mkdir("d")
		e.root.put("d/f", text(1, 10))
		require.Equal(e, []string{"f"}, e.root.list("d"))
		require.Equal(e, []string{"d"}, e.root.list("."))
	}),
	one("ManyFilesApart", func(e *Env) {
		for i := range 20 {
			e.root.put(name("f%d", i), text(uint64(i), 100+i))
		}
		for i := range 20 {
			e.root.holds(name("f%d", i), text(uint64(i), 100+i))
		}
	}),
	one("SpaceIsSensible", func(e *Env) {
		space, err := e.root.fs.Space()
		require.NoError(e, err)
		require.Positive(e, space.Total)
		require.GreaterOrEqual(e, space.Total, space.Free)
		require.GreaterOrEqual(e, space.Free, int64(0))
	}),
	one("StatOfTheTop", func(e *Env) {
		require.Equal(e, IsDir, e.root.stat(".").Kind)
		require.EqualValues(e, 0o777, e.root.stat(".").Mode)
	}),
	one("StatOfOpenFile", func(e *Env) {
		f := e.root.open("f", os.O_RDWR|os.O_CREATE, 0o600)
		e.writeAt(f, 0, text(1, 77))
		info, err := f.Stat()
		require.NoError(e, err)
		require.Equal(e, IsFile, info.Kind)
		require.EqualValues(e, 77, info.Size)
		require.EqualValues(e, 0o600, info.Mode)
	}),
	one("SyncThenRead", func(e *Env) {
		f := e.root.open("f", os.O_RDWR|os.O_CREATE, 0o600)
		e.writeAt(f, 0, text(1, 70000))
		require.NoError(e, f.Sync())
		e.root.holds("f", text(1, 70000))
	}),
}

// openCases test the flags of open, and open files.
var openCases = Cases{
	one("OpenCreatesOnlyIfAsked", func(e *Env) {
		e.fails(e.root.try("f", os.O_RDWR, 0o644), syscall.ENOENT)
		e.root.absent("f")
	}),
	one("OpenKeepsContents", func(e *Env) {
		e.root.put("f", text(1, 500))
		require.NoError(e, e.root.try("f", os.O_RDWR|os.O_CREATE, 0o600))
		e.root.holds("f", text(1, 500))
		require.EqualValues(e, 0o644, e.root.stat("f").Mode, "the mode is that of the creation")
	}),
	one("OpenExclusive", func(e *Env) {
		require.NoError(e, e.root.try("f", os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644))
		e.fails(e.root.try("f", os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644), syscall.EEXIST)
	}),
	one("OpenExclusiveOfDirectory", func(e *Env) {
		e.root.mkdir("d")
		e.fails(e.root.try("d", os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644), syscall.EEXIST)
	}),
	one("OpenTruncates", func(e *Env) {
		e.root.put("f", text(1, 200000))
		require.NoError(e, e.root.try("f", os.O_WRONLY|os.O_TRUNC, 0))
		e.root.holds("f", nil)
		e.root.put("f", text(2, 10))
		e.root.holds("f", text(2, 10))
	}),
	one("OpenDirectoryToWrite", func(e *Env) {
		e.root.mkdir("d")
		e.fails(e.root.try("d", os.O_WRONLY, 0), syscall.EISDIR)
		e.fails(e.root.try("d", os.O_RDWR, 0), syscall.EISDIR)
		e.fails(e.root.try("d", os.O_RDWR|os.O_CREATE, 0o644), syscall.EISDIR)
	}),
	one("OpenReadOnlyDoesNotWrite", func(e *Env) {
		e.root.put("f", text(1, 10))
		f := e.root.open("f", os.O_RDONLY, 0)
		_, err := f.WriteAt([]byte("x"), 0)
		e.fails(err, syscall.EBADF, syscall.EACCES, syscall.EPERM)
		e.root.holds("f", text(1, 10))
	}),
	one("OpenReadOnlyDoesNotTruncate", func(e *Env) {
		e.root.put("f", text(1, 10))
		f := e.root.open("f", os.O_RDONLY, 0)
		e.fails(f.Truncate(0), syscall.EBADF, syscall.EINVAL, syscall.EACCES, syscall.EPERM)
		e.root.holds("f", text(1, 10))
	}),
	one("OpenWriteOnlyDoesNotRead", func(e *Env) {
		e.root.put("f", text(1, 10))
		f := e.root.open("f", os.O_WRONLY, 0)
		_, err := f.ReadAt(make([]byte, 1), 0)
		e.fails(err, syscall.EBADF, syscall.EACCES, syscall.EPERM)
	}),
	one("ReadAndWriteMoveOn", func(e *Env) {
		f := e.root.open("f", os.O_RDWR|os.O_CREATE, 0o644)
		for i := range 10 {
			n, err := f.Write(text(1, 1000)[i*100 : i*100+100])
			require.NoError(e, err)
			require.Equal(e, 100, n)
		}
		at, err := f.Seek(0, io.SeekStart)
		require.NoError(e, err)
		require.Zero(e, at)
		got, err := io.ReadAll(f)
		require.NoError(e, err)
		e.same(text(1, 1000), got, 0)
	}),
	one("SeekFromEachEnd", func(e *Env) {
		e.root.put("f", text(1, 1000))
		f := e.root.open("f", os.O_RDWR, 0)
		for _, c := range []struct {
			off    int64
			whence int
			want   int64
		}{{10, io.SeekStart, 10}, {5, io.SeekCurrent, 15}, {-15, io.SeekCurrent, 0}, {-1, io.SeekEnd, 999}, {100, io.SeekEnd, 1100}} {
			at, err := f.Seek(c.off, c.whence)
			require.NoError(e, err)
			require.Equal(e, c.want, at)
		}
		_, err := f.Seek(-1, io.SeekStart)
		require.Error(e, err)
		n, err := f.Read(make([]byte, 10))
		require.ErrorIs(e, err, io.EOF, "behind the end")
		require.Zero(e, n)
	}),
	one("ReadAtTheEnd", func(e *Env) {
		e.root.put("f", text(1, 100))
		f := e.root.open("f", os.O_RDONLY, 0)
		buf := make([]byte, 50)
		n, err := f.ReadAt(buf, 80)
		require.Equal(e, 20, n)
		require.ErrorIs(e, err, io.EOF)
		e.same(text(1, 100)[80:], buf[:20], 80)
		n, err = f.ReadAt(buf, 100)
		require.Zero(e, n)
		require.ErrorIs(e, err, io.EOF)
		n, err = f.ReadAt(buf, 1<<40)
		require.Zero(e, n)
		require.ErrorIs(e, err, io.EOF)
	}),
	one("NothingIsWritten", func(e *Env) {
		f := e.root.open("f", os.O_RDWR|os.O_CREATE, 0o644)
		n, err := f.WriteAt(nil, 100)
		require.NoError(e, err)
		require.Zero(e, n)
		e.root.holds("f", nil)
	}),
	one("NegativeOffsets", func(e *Env) {
		f := e.root.open("f", os.O_RDWR|os.O_CREATE, 0o644)
		_, err := f.WriteAt([]byte("x"), -1)
		require.Error(e, err)
		_, err = f.ReadAt(make([]byte, 1), -1)
		require.Error(e, err)
		require.NotErrorIs(e, err, io.EOF)
		e.root.holds("f", nil)
	}),
	one("OffsetsBeyondAllSizes", func(e *Env) {
		f := e.root.open("f", os.O_RDWR|os.O_CREATE, 0o644)
		_, err := f.WriteAt([]byte("xy"), sizeMax-1)
		e.fails(err, syscall.EFBIG, syscall.EINVAL, syscall.EOVERFLOW)
		e.root.holds("f", nil)
	}),
	one("UseAfterClose", func(e *Env) {
		f := e.root.open("f", os.O_RDWR|os.O_CREATE, 0o644)
		require.NoError(e, f.Close())
		_, err := f.WriteAt([]byte("x"), 0)
		require.Error(e, err)
		_, err = f.ReadAt(make([]byte, 1), 0)
		require.Error(e, err)
		require.NotErrorIs(e, err, io.EOF)
		require.Error(e, f.Close())
		e.root.holds("f", nil)
	}),
	one("TwoHandlesSeeOneFile", func(e *Env) {
		a := e.root.open("f", os.O_RDWR|os.O_CREATE, 0o644)
		b := e.root.open("f", os.O_RDWR, 0)
		e.writeAt(a, 0, text(1, 100))
		e.readAt(b, 0, text(1, 100))
		e.writeAt(b, 50, text(2, 100000))
		e.readAt(a, 50, text(2, 100000))
		require.NoError(e, a.Truncate(10))
		n, err := b.ReadAt(make([]byte, 100), 0)
		require.Equal(e, 10, n)
		require.ErrorIs(e, err, io.EOF)
	}),
	one("HandleFollowsRename", func(e *Env) {
		f := e.root.open("f", os.O_RDWR|os.O_CREATE, 0o644)
		e.writeAt(f, 0, text(1, 100))
		e.root.rename("f", "g")
		e.writeAt(f, 100, text(2, 100))
		e.root.holds("g", append(text(1, 100), text(2, 100)...))
	}),
	{"AppendWrites", []Ability{Append}, func(e *Env) {
		e.root.put("f", text(1, 100))
		f := e.root.open("f", os.O_WRONLY|os.O_APPEND, 0)
		for i := range 3 {
			_, err := f.Write(text(uint64(i), 50))
			require.NoError(e, err)
		}
		want := append(text(1, 100), text(0, 50)...)
		want = append(append(want, text(1, 50)...), text(2, 50)...)
		e.root.holds("f", want)
	}},
	{"AppendWritesBehindOthers", []Ability{Append}, func(e *Env) {
		a := e.root.open("f", os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
		b := e.root.open("f", os.O_WRONLY|os.O_APPEND, 0)
		var want []byte
		for i := range 6 {
			f := a
			if i%2 == 1 {
				f = b
			}
			_, err := f.Write(text(uint64(i), 20000))
			require.NoError(e, err)
			want = append(want, text(uint64(i), 20000)...)
		}
		e.root.holds("f", want)
	}},
	{"UnlinkedFileStays", []Ability{Unlinked}, func(e *Env) {
		f := e.root.open("f", os.O_RDWR|os.O_CREATE, 0o644)
		e.writeAt(f, 0, text(1, 100000))
		e.root.remove("f")
		e.root.absent("f")
		e.readAt(f, 0, text(1, 100000))
		e.writeAt(f, 100000, text(2, 10))
		e.readAt(f, 100000, text(2, 10))
	}},
	{"ReplacedFileStays", []Ability{Unlinked}, func(e *Env) {
		f := e.root.open("f", os.O_RDWR|os.O_CREATE, 0o644)
		e.writeAt(f, 0, text(1, 1000))
		e.root.put("g", text(2, 10))
		e.root.rename("g", "f")
		e.readAt(f, 0, text(1, 1000))
		e.root.holds("f", text(2, 10))
	}},
	one("UnlinkedFileDoesNotComeBack", func(e *Env) {
		f := e.root.open("f", os.O_RDWR|os.O_CREATE, 0o644)
		e.writeAt(f, 0, text(1, 1000))
		e.root.remove("f")
		e.root.put("f", text(2, 10))
		_, _ = f.WriteAt(text(3, 100), 0) // may succeed or fail, but must not change the new file
		_ = f.Close()
		e.root.holds("f", text(2, 10))
	}),
}
