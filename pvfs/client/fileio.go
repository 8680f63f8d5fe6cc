package client

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/datatype"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

var (
	_ io.ReadWriteSeeker = (*File)(nil)
	_ io.ReaderAt        = (*File)(nil)
	_ io.WriterAt        = (*File)(nil)
	_ io.StringWriter    = (*File)(nil)
)

// errAppend is the error of WriteAt on such a file, as in package os.
var errAppend = errors.New("the file was opened with O_APPEND")

// ReadAt reads bytes at off, and returns io.EOF if the file ends before len(b) bytes. Holes read as zeros. The bytes come from
// all servers in parallel, directly into b.
func (f *File) ReadAt(b []byte, off int64) (int, error) { return f.ReadAtCtx(f.fsys.ctx, b, off) }

// ReadAtCtx is ReadAt with a context. After an error, the contents of b are undefined.
func (f *File) ReadAtCtx(ctx context.Context, b []byte, off int64) (int, error) {
	return f.reading(func() (int64, error) { return f.readAt(ctx, memoryOf(b), off) })
}

// WriteAt writes at off. After an error, any of the bytes may have been written.
func (f *File) WriteAt(b []byte, off int64) (int, error) { return f.WriteAtCtx(f.fsys.ctx, b, off) }

// WriteAtCtx is WriteAt with a context. b must not be changed until it returns. With O_SYNC, an error may mean that all of b was
// written but is not on the disks.
func (f *File) WriteAtCtx(ctx context.Context, b []byte, off int64) (int, error) {
	return f.writing(ctx, func() (int64, error) { return f.writeAt(ctx, memoryOf(b), off) })
}

// Read reads the next len(b) bytes, or fewer at the end of the file.
func (f *File) Read(b []byte) (int, error) { return f.ReadCtx(f.fsys.ctx, b) }

// ReadCtx is Read with a context.
func (f *File) ReadCtx(ctx context.Context, b []byte) (int, error) {
	return f.reading(func() (int64, error) {
		n, err := f.read(ctx, memoryOf(b))
		if n > 0 && err == io.EOF {
			err = nil
		}
		return n, err
	})
}

// read reads at the file's position. io.EOF comes with the last bytes.
func (f *File) read(ctx context.Context, mem memory) (int64, error) {
	f.seek.Lock()
	defer f.seek.Unlock()
	n, err := f.readAt(ctx, mem, f.pos)
	f.pos += n
	return n, err
}

// Write writes at the file's position, or with O_APPEND at the end of the file.
func (f *File) Write(b []byte) (int, error) { return f.WriteCtx(f.fsys.ctx, b) }

// WriteString is Write.
func (f *File) WriteString(s string) (int, error) { return f.Write([]byte(s)) }

// WriteCtx is Write with a context. If several clients append at the same time, one may overwrite another's bytes.
func (f *File) WriteCtx(ctx context.Context, b []byte) (int, error) {
	return f.writing(ctx, func() (int64, error) { return f.write(ctx, memoryOf(b)) })
}

// write writes at the file's position.
func (f *File) write(ctx context.Context, mem memory) (int64, error) {
	f.seek.Lock()
	defer f.seek.Unlock()
	if f.flag&os.O_APPEND != 0 && mem.size > 0 {
		f.node.appending.Lock()
		defer f.node.appending.Unlock()
		size, err := f.fsys.fetchSize(ctx, f.node)
		if err != nil {
			return 0, err
		}
		f.pos = size
	}
	n, err := f.writeOut(ctx, proto.ByteStream(), mem, f.pos)
	f.pos += n
	return n, err
}

// Seek sets the position of the next Read or Write.
func (f *File) Seek(offset int64, whence int) (int64, error) {
	var pos int64
	err := f.during("seek", func() error {
		f.seek.Lock()
		defer f.seek.Unlock()
		base := int64(0)
		switch whence {
		case io.SeekStart:
		case io.SeekCurrent:
			base = f.pos
		case io.SeekEnd:
			size, err := f.fsys.fetchSize(f.fsys.ctx, f.node)
			if err != nil {
				return err
			}
			base = size
		default:
			return proto.EINVAL
		}
		pos = base + offset
		if pos < 0 {
			return proto.EINVAL
		}
		f.pos = pos
		return nil
	})
	if err != nil {
		return 0, err
	}
	if pos == 0 {
		f.RewindDir()
	}
	return pos, nil
}

// reading runs a read on the open file. io.EOF stays as it is.
func (f *File) reading(do func() (int64, error)) (n int, err error) {
	end := false
	err = f.during("read", func() error {
		if err := f.readable(); err != nil {
			return err
		}
		moved, err := do()
		n, end = int(moved), err == io.EOF
		if end {
			return nil
		}
		return err
	})
	if end {
		err = io.EOF
	}
	return n, err
}

// writing runs a write on the open file, and a sync after it with O_SYNC.
func (f *File) writing(ctx context.Context, do func() (int64, error)) (n int, err error) {
	err = f.during("write", func() error {
		if err := f.writable(); err != nil {
			return err
		}
		moved, err := do()
		n = int(moved)
		if err == nil && f.flag&os.O_SYNC != 0 {
			err = f.sync(ctx)
		}
		return err
	})
	return n, err
}

// readAt reads contiguous bytes.
func (f *File) readAt(ctx context.Context, mem memory, off int64) (int64, error) {
	return f.readIn(ctx, proto.ByteStream(), mem, off)
}

// writeAt writes contiguous bytes.
func (f *File) writeAt(ctx context.Context, mem memory, off int64) (int64, error) {
	if f.flag&os.O_APPEND != 0 {
		return 0, errAppend
	}
	return f.writeOut(ctx, proto.ByteStream(), mem, off)
}

// readIn reads the bytes of a file request into memory.
func (f *File) readIn(ctx context.Context, req proto.FileRequest, mem memory, off int64) (int64, error) {
	if off < 0 {
		return 0, proto.EINVAL
	}
	if mem.size == 0 {
		return 0, nil
	}
	if datatype.IsBytes(req) && endOf(off, mem.size) != nil {
		mem = mem.sub(0, 1<<63-1-off) // no file is longer
		if mem.size == 0 {
			return 0, io.EOF
		}
	}
	t := &transfer{fs: f.fsys, node: f.node, typ: proto.IORead, req: req, off: off, mem: mem}
	n, err := t.read(ctx)
	if err == nil && n < mem.size {
		err = io.EOF
	}
	return n, err
}

// writeOut writes memory to the bytes of a file request.
func (f *File) writeOut(ctx context.Context, req proto.FileRequest, mem memory, off int64) (int64, error) {
	if err := endOf(off, mem.size); err != nil || mem.size == 0 {
		return 0, err
	}
	t := &transfer{fs: f.fsys, node: f.node, typ: proto.IOWrite, req: req, off: off, mem: mem}
	f.node.setUnstamped(true)
	if err := t.write(ctx); err != nil {
		return 0, err
	}
	f.node.setUnstamped(true) // the file may have been stamped during the write
	return mem.size, nil
}
