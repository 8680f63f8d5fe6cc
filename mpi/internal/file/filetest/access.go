package filetest

import (
	"bytes"
	"context"
	"maps"
	"os"
	"slices"

	"github.com/viaduct-hpc/viaduct/mpi/internal/file/ranges"
	"github.com/viaduct-hpc/viaduct/mpi/internal/file/storage"
)

// A file is an open file; its methods are those of storage.File.
type file struct {
	fs   *FS
	name string
	node *inode
}

func (f *file) Read(ctx context.Context, l ranges.List, mem []byte, _ storage.Options) (n int64, err error) {
	err = f.fs.step(ctx, Read, f.name, func(bool) error {
		for off, length := range l.All() {
			have := max(0, min(length, int64(len(f.node.data))-off))
			n += int64(copy(mem[n:], f.node.data[min(off, int64(len(f.node.data))):][:have]))
			if have < length {
				break
			}
		}
		return nil
	})
	return n, err
}

func (f *file) Write(ctx context.Context, l ranges.List, mem []byte, _ storage.Options) error {
	return f.fs.step(ctx, Write, f.name, func(half bool) error {
		left := l.Bytes()
		if half {
			left /= 2
		}
		for off, length := range l.All() {
			some := min(length, left)
			f.resize(max(int64(len(f.node.data)), off+some))
			copy(f.node.data[off:], mem[:some])
			mem, left = mem[some:], left-some
		}
		return nil
	})
}

// resize sets the size of the file. mu must be held.
func (f *file) resize(size int64) {
	if grow := size - int64(len(f.node.data)); grow > 0 {
		f.node.data = append(f.node.data, make([]byte, grow)...)
	}
	f.node.data = f.node.data[:size]
}

func (f *file) Size(ctx context.Context) (n int64, err error) {
	err = f.fs.step(ctx, Size, f.name, func(bool) error {
		n = int64(len(f.node.data))
		return nil
	})
	return n, err
}

func (f *file) Truncate(ctx context.Context, size int64) error {
	return f.fs.step(ctx, Write, f.name, func(bool) error {
		f.resize(size)
		return nil
	})
}

func (f *file) Preallocate(ctx context.Context, size int64) error {
	return f.fs.step(ctx, Write, f.name, func(bool) error {
		f.resize(max(size, int64(len(f.node.data))))
		return nil
	})
}

// Sync syncs the bytes of all processes, as file systems do.
func (f *file) Sync(ctx context.Context) error {
	return f.fs.step(ctx, Sync, f.name, func(bool) error {
		f.node.synced = bytes.Clone(f.node.data)
		return nil
	})
}

func (f *file) Close(ctx context.Context) error {
	return f.fs.step(ctx, Close, f.name, func(bool) error { return nil })
}

func (f *file) Layout() storage.Layout { return storage.Layout{Unit: sectorBytes, Count: 1} }

// A dir is the open directory; its methods are those of storage.Dir.
type dir struct{ fs *FS }

func (d *dir) Names(ctx context.Context) (names []string, err error) {
	err = d.fs.step(ctx, Names, "", func(bool) error {
		names = slices.Sorted(maps.Keys(d.fs.names))
		return nil
	})
	return names, err
}

func (d *dir) Rename(ctx context.Context, from, to string) error {
	f := d.fs
	err := f.step(ctx, Rename, to, func(bool) error {
		n := f.names[from]
		if n == nil {
			return os.ErrNotExist
		}
		f.set(to, n)
		if !f.TwoNames {
			f.set(from, nil)
		}
		return nil
	})
	if err != nil || !f.TwoNames {
		return err
	}
	return f.step(ctx, Unname, from, func(bool) error {
		f.set(from, nil)
		return nil
	})
}

func (d *dir) Delete(ctx context.Context, name string) error {
	f := d.fs
	return f.step(ctx, Delete, name, func(bool) error {
		n := f.names[name]
		if n == nil {
			return os.ErrNotExist
		}
		n.gone = n.gone || f.TwoNames
		f.set(name, nil)
		return nil
	})
}

func (d *dir) Sync(ctx context.Context) error {
	f := d.fs
	return f.step(ctx, Flush, "", func(bool) error {
		f.durable, f.changed = maps.Clone(f.names), nil
		return nil
	})
}

func (d *dir) Close(ctx context.Context) error {
	return d.fs.step(ctx, Close, "", func(bool) error { return nil })
}
