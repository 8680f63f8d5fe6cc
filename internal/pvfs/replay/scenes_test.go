package replay_test

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// scenes do the same as the captured commands with our client, by the names of the captures.
var scenes = map[string]func(p *performance){
	"00-server-startup": (*performance).ping,
	"01-ping":           (*performance).ping,
	"02-mkdir":          func(p *performance) { p.ok(p.fs.Mkdir(p.ctx, "/d", 0o755)) },
	"03-mkdir-exists": func(p *performance) {
		require.ErrorIs(p.t, p.fs.Mkdir(p.ctx, "/d", 0o755), fs.ErrExist)
	},
	"04-touch":            func(p *performance) { p.touch("/d/f") },
	"05-cp-in-1k-smallio": func(p *performance) { p.copyIn("/d/f1k", 1000) },
	"06-cp-in-100k":       func(p *performance) { p.copyIn("/d/f100k", 102400) },
	"07-cp-in-3m":         func(p *performance) { p.copyIn("/d/f3m", 3<<20) },
	"08-ls":               func(p *performance) { p.list("/d", "f", "f100k", "f1k", "f3m") },
	"09-ls-al":            func(p *performance) { p.list("/d", "f", "f100k", "f1k", "f3m") },
	"11-stat":             func(p *performance) { p.stat("/d/f3m", 3<<20) },
	"12-stat-noent": func(p *performance) {
		_, err := p.fs.StatCtx(p.ctx, "/d/nothere")
		require.ErrorIs(p.t, err, fs.ErrNotExist)
	},
	"13-viewdist":              func(p *performance) { p.stat("/d/f3m", 3<<20) },
	"14-cp-out-3m":             func(p *performance) { p.copyOut("/d/f3m", 3<<20) },
	"15-cp-out-1k-smallio":     func(p *performance) { p.copyOut("/d/f1k", 1000) },
	"16-smallwrite":            func(p *performance) { p.write("/d/f", 0, bytes.Repeat([]byte("A"), 100)) },
	"17-smallread":             func(p *performance) { p.read("/d/f", 0, 100, 100) },
	"18-smallread-past-eof":    func(p *performance) { p.read("/d/f", 50, 200, 50) },
	"19-write-strided-3strips": func(p *performance) { p.write("/d/f", 60000, bytes.Repeat([]byte("B"), 80000)) },
	"21-truncate":              func(p *performance) { p.ok(p.fs.Truncate(p.ctx, "/d/f3m", 100000)) },
	"22-truncate-grow":         func(p *performance) { p.ok(p.fs.Truncate(p.ctx, "/d/f3m", 1000000)) },
	"23-read-hole": func(p *performance) {
		want := append(lines(100000)[90000:], make([]byte, 290000)...)
		require.Equal(p.t, want, p.read("/d/f3m", 90000, 300000, 300000))
	},
	"24-flush":  func(p *performance) { p.ok(p.fs.Sync(p.ctx, "/d/f3m")) },
	"25-rename": func(p *performance) { p.ok(p.fs.Rename(p.ctx, "/d/f100k", "/d/g100k")) },
	"27-readdir": func(p *performance) {
		names, err := p.fs.ReadNames(p.ctx, "/d")
		p.ok(err)
		require.Equal(p.t, []string{"f", "f3m", "g100k"}, names)
	},
	"28-readdirplus": func(p *performance) { p.list("/d", "f", "f3m", "g100k") },
	"29-symlink":     func(p *performance) { p.ok(p.fs.Symlink(p.ctx, "f3m", "/d/lnk")) },
	"30-stat-symlink": func(p *performance) {
		target, err := p.fs.ReadLinkCtx(p.ctx, "/d/lnk")
		p.ok(err)
		require.Equal(p.t, "f3m", target)
	},
	"31-setattr-chmod": func(p *performance) { p.ok(p.fs.Chmod(p.ctx, "/d/f", 0o600)) },
	"32-setattr-chown": func(p *performance) { p.ok(p.fs.Chown(p.ctx, "/d/f", 65534, 65534)) },
	"33-xattr-set":     func(p *performance) { p.ok(p.fs.SetXattr(p.ctx, "/d/f", "user.foo", []byte("bar"), 0)) },
	"35-xattr-list": func(p *performance) {
		keys, err := p.fs.ListXattr(p.ctx, "/d/f")
		p.ok(err)
		require.Contains(p.t, keys, "user.foo")
	},
	"36-xattr-del": func(p *performance) { p.ok(p.fs.RemoveXattr(p.ctx, "/d/f", "user.foo")) },
	"37-statfs": func(p *performance) {
		space, err := p.fs.StatFS(p.ctx)
		p.ok(err)
		require.EqualValues(p.t, 50553004032, space.Total)
	},
	"44-rm-nonempty-dir": func(p *performance) {
		require.ErrorIs(p.t, p.fs.Remove(p.ctx, "/d"), proto.ENOTEMPTY)
	},
	"47-touch-as-nobody": func(p *performance) {
		_, err := p.fs.OpenFile(p.ctx, "/d/nope", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		require.ErrorIs(p.t, err, fs.ErrPermission)
	},
	"48-rm-symlink": func(p *performance) { p.ok(p.fs.Remove(p.ctx, "/d/lnk")) },
	"49-rm-file":    func(p *performance) { p.ok(p.fs.Remove(p.ctx, "/d/f3m")) },
	"50-creates-10": func(p *performance) {
		for i := range 10 {
			p.touch(fmt.Sprintf("/d/f%06d", i))
		}
	},
	"51-rmdir": func(p *performance) { p.ok(p.fs.Remove(p.ctx, "/d")) },

	"session/1": func(p *performance) { p.ok(p.fs.Mkdir(p.ctx, "/dir1", 0o755)) },
	"session/2": func(p *performance) { p.touch("/dir1/file0") },
	"session/3": func(p *performance) { p.copyIn("/dir1/file3m", 3<<20) },
	"session/4": func(p *performance) { p.list("/dir1", "file0", "file3m") },
	"session/5": func(p *performance) { p.stat("/dir1/file3m", 3<<20) },
	"session/6": func(p *performance) { p.copyOut("/dir1/file3m", 3<<20) },
	"session/7": func(p *performance) { p.ok(p.fs.Remove(p.ctx, "/dir1/file3m")) },
	"session/8": func(p *performance) { p.ok(p.fs.Remove(p.ctx, "/dir1/file0")) },
	"session/9": func(p *performance) { p.ok(p.fs.Remove(p.ctx, "/dir1")) },

	"distdir-2-touch12": func(p *performance) {
		for i := range 12 {
			p.touch(fmt.Sprintf("/dd/name%d", i+1))
		}
	},
	"distdir-2-ls": func(p *performance) {
		p.list("/dd", "name1", "name10", "name11", "name12", "name2", "name3", "name4", "name5", "name6", "name7", "name8", "name9")
	},
}

// notForClients are captured administration commands that our client has no call for.
var notForClients = map[string]string{
	"38-set-mode":      "pvfs2-set-mode sets the mode of servers",
	"39-get-uid":       "pvfs2-get-uid asks who uses a server",
	"40-perf-mon":      "pvfs2-perf-mon-example reads counters of servers",
	"41-drop-caches":   "pvfs2-drop-caches empties caches of servers",
	"42-set-sync":      "pvfs2-set-sync sets when servers write to disk",
	"43-fsck":          "pvfs2-fsck looks at all objects of servers; pvfsd check does that without a client",
	"45-remove-dirent": "pvfs2-remove-object removes an entry of a damaged directory",
}

func (p *performance) ok(err error) {
	p.t.Helper()
	require.NoError(p.t, err)
}

func (p *performance) ping() {
	for _, err := range p.fs.Ping(p.ctx) {
		p.ok(err)
	}
}

// touch makes an empty file.
func (p *performance) touch(name string) {
	f, err := p.fs.OpenFile(p.ctx, name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	p.ok(err)
	p.ok(f.Close())
}

func (p *performance) stat(name string, size int64) {
	info, err := p.fs.StatCtx(p.ctx, name)
	p.ok(err)
	require.Equal(p.t, size, info.Size())
}

// list reads a directory with the attributes of its entries.
func (p *performance) list(name string, want ...string) {
	infos, err := p.fs.ReadDirPlus(p.ctx, name)
	p.ok(err)
	var names []string
	for _, i := range infos {
		names = append(names, i.Name())
	}
	require.Equal(p.t, want, names)
}

// write writes a part of an existing file.
func (p *performance) write(name string, off int64, data []byte) {
	f, err := p.fs.OpenFile(p.ctx, name, os.O_WRONLY, 0)
	p.ok(err)
	_, err = f.WriteAt(data, off)
	p.ok(err)
	p.ok(f.Close())
}

// read reads a part of a file. there is how many bytes of it exist.
func (p *performance) read(name string, off int64, size, there int) []byte {
	f, err := p.fs.OpenFile(p.ctx, name, os.O_RDONLY, 0)
	p.ok(err)
	b := make([]byte, size)
	n, err := f.ReadAt(b, off)
	if there < size {
		require.ErrorIs(p.t, err, io.EOF)
	} else {
		p.ok(err)
	}
	require.Equal(p.t, there, n)
	p.ok(f.Close())
	return b[:n]
}

// copyIn copies size bytes to a file like pvfs2-cp, which sets the mode if the file exists.
func (p *performance) copyIn(name string, size int) {
	f, err := p.fs.OpenFile(p.ctx, name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o777)
	p.ok(err)
	_, err = f.Write(lines(size))
	p.ok(err)
	p.ok(p.fs.Chmod(p.ctx, name, 0o644))
	p.ok(f.Close())
}

// copyOut reads a file of size bytes like pvfs2-cp, 10 MiB at a time.
func (p *performance) copyOut(name string, size int) {
	require.Equal(p.t, lines(size), p.read(name, 0, 10<<20, size))
}

// lines are the contents of the captured files.
func lines(n int) []byte {
	var b []byte
	for off := 0; off < n; off += 16 {
		b = fmt.Appendf(b, "off=%011x\n", off)
	}
	return b[:n]
}
