package fuse_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// childEnv makes a test process run random operations on a file: "PATH SEED STEPS". It is a separate process because the process
// that serves a file must not touch memory mapped from it.
const childEnv = "VIADUCT_FUSE_CHILD"

const fsxMax = 400_000 // size limit of the file, bytes: more than two strips on each of three servers

// child runs the operations and prints the checksum of the final contents.
func child(spec string) int {
	fields := strings.Fields(spec)
	seed, _ := strconv.ParseUint(fields[1], 10, 64)
	steps, _ := strconv.Atoi(fields[2])
	x := &fsx{path: fields[0], rnd: rand.New(rand.NewPCG(seed, 1))}
	if err := x.run(steps); err != nil {
		fmt.Printf("seed %d: %v\nthe last operations:\n%s\n", seed, err, strings.Join(x.log[max(0, len(x.log)-20):], "\n"))
		return 1
	}
	sum := sha256.Sum256(x.want)
	fmt.Println(hex.EncodeToString(sum[:]))
	return 0
}

// fsx compares a file with a slice, like the program fsx.
type fsx struct {
	path string
	rnd  *rand.Rand
	f    *os.File
	want []byte
	log  []string
}

func (x *fsx) run(steps int) (err error) {
	if err := x.open(os.O_CREATE | os.O_EXCL); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.f.Close()) }()
	ops := []func() error{
		x.read, x.write, x.write, x.truncate, x.mapped, x.mapped, x.append, x.sync, x.reopen,
		x.readDirect, x.writeDirect, x.copyRange, x.seek, x.allocate,
	}
	for range steps {
		if err := ops[x.rnd.IntN(len(ops))](); err != nil {
			return err
		}
		info, err := x.f.Stat()
		if err != nil || info.Size() != int64(len(x.want)) {
			return fmt.Errorf("the size is %d, not %d (%w)", info.Size(), len(x.want), err)
		}
	}
	got, err := os.ReadFile(x.path)
	if err != nil {
		return err
	}
	return x.same("all", 0, got, x.want)
}

func (x *fsx) open(flag int) (err error) {
	x.f, err = os.OpenFile(x.path, os.O_RDWR|flag, 0o600)
	return err
}

func (x *fsx) note(format string, args ...any) { x.log = append(x.log, fmt.Sprintf(format, args...)) }

// same compares bytes of the file with the expected ones.
func (x *fsx) same(what string, off int, got, want []byte) error {
	if bytes.Equal(got, want) {
		return nil
	}
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			return fmt.Errorf("%s: byte %d is %d, not %d", what, off+i, got[i], want[i])
		}
	}
	return fmt.Errorf("%s at %d: %d bytes, not %d", what, off, len(got), len(want))
}

// span is a random region below limit.
func (x *fsx) span(limit int) (off, n int) {
	if limit == 0 {
		return 0, 0
	}
	off = x.rnd.IntN(limit)
	return off, min(x.rnd.IntN(70_000), limit-off)
}

func (x *fsx) bytes(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(x.rnd.Uint32())
	}
	return b
}

// grow extends the expected contents to at least n bytes.
func (x *fsx) grow(n int) {
	if n > len(x.want) {
		x.want = append(x.want, make([]byte, n-len(x.want))...)
	}
}

func (x *fsx) read() error  { return x.readBy("read", x.f) }
func (x *fsx) write() error { return x.writeBy("write", x.f) }

// readDirect and writeDirect bypass the kernel's cache.
func (x *fsx) readDirect() error  { return x.direct(os.O_RDONLY, x.readBy) }
func (x *fsx) writeDirect() error { return x.direct(os.O_WRONLY, x.writeBy) }

func (x *fsx) direct(flag int, do func(what string, f *os.File) error) error {
	f, err := os.OpenFile(x.path, flag|unix.O_DIRECT, 0)
	if err != nil {
		return err
	}
	return errors.Join(do("direct", f), f.Close())
}

func (x *fsx) readBy(what string, f *os.File) error {
	off, n := x.span(fsxMax)
	x.note("%s: read %d at %d", what, n, off)
	b := make([]byte, n)
	got, err := f.ReadAt(b, int64(off))
	if err != nil && err != io.EOF {
		return err
	}
	return x.same(what, off, b[:got], x.want[min(off, len(x.want)):min(off+n, len(x.want))])
}

func (x *fsx) writeBy(what string, f *os.File) error {
	off, n := x.span(fsxMax)
	x.note("%s: write %d at %d", what, n, off)
	b := x.bytes(n)
	if n == 0 {
		return nil
	}
	x.grow(off + n)
	copy(x.want[off:], b)
	_, err := f.WriteAt(b, int64(off))
	return err
}

// copyRange makes the kernel copy from one half of the file to the other.
func (x *fsx) copyRange() error {
	from, n := x.span(len(x.want) / 2)
	to := len(x.want)/2 + x.rnd.IntN(fsxMax/2)
	n = min(n, fsxMax-to)
	if n == 0 {
		return nil
	}
	x.note("copy %d from %d to %d", n, from, to)
	for done := 0; done < n; {
		in, out := int64(from+done), int64(to+done)
		moved, err := unix.CopyFileRange(int(x.f.Fd()), &in, int(x.f.Fd()), &out, n-done, 0)
		if err != nil || moved == 0 {
			return fmt.Errorf("copy_file_range gives %d, %w", moved, err)
		}
		done += moved
	}
	x.grow(to + n)
	copy(x.want[to:to+n], x.want[from:])
	return nil
}

// seek searches for data and holes: everything up to the end is data.
func (x *fsx) seek() error {
	off := x.rnd.IntN(fsxMax)
	x.note("seek at %d", off)
	data, err := x.f.Seek(int64(off), unix.SEEK_DATA)
	hole, err2 := x.f.Seek(int64(off), unix.SEEK_HOLE)
	if off >= len(x.want) {
		if !errors.Is(err, unix.ENXIO) || !errors.Is(err2, unix.ENXIO) {
			return fmt.Errorf("behind the end: %w, %w", err, err2)
		}
		return nil
	}
	if err := errors.Join(err, err2); err != nil || data != int64(off) || hole != int64(len(x.want)) {
		return fmt.Errorf("data at %d and a hole at %d, in %d bytes: %w", data, hole, len(x.want), err)
	}
	return nil
}

// allocate must change nothing: fallocate is not supported.
func (x *fsx) allocate() error {
	off, n := x.span(fsxMax)
	x.note("allocate %d at %d", n, off)
	modes := []uint32{0, unix.FALLOC_FL_KEEP_SIZE, unix.FALLOC_FL_KEEP_SIZE | unix.FALLOC_FL_PUNCH_HOLE, unix.FALLOC_FL_ZERO_RANGE}
	err := unix.Fallocate(int(x.f.Fd()), modes[x.rnd.IntN(len(modes))], int64(off), int64(n+1))
	if !errors.Is(err, unix.EOPNOTSUPP) {
		return fmt.Errorf("fallocate: %w", err)
	}
	return nil
}

func (x *fsx) append() error {
	n := min(x.rnd.IntN(20_000), fsxMax-len(x.want))
	x.note("append %d", n)
	f, err := os.OpenFile(x.path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	b := x.bytes(n)
	_, err = f.Write(b)
	x.want = append(x.want, b...)
	return errors.Join(err, f.Close())
}

func (x *fsx) truncate() error {
	n := x.rnd.IntN(fsxMax)
	x.note("truncate to %d", n)
	x.grow(n)
	x.want = x.want[:n:n]
	if x.rnd.IntN(2) == 0 {
		return os.Truncate(x.path, int64(n))
	}
	return x.f.Truncate(int64(n))
}

// mapped reads and writes through mapped memory.
func (x *fsx) mapped() error {
	off, n := x.span(len(x.want))
	if n == 0 {
		return nil
	}
	x.note("map %d at %d", n, off)
	start := off &^ (os.Getpagesize() - 1)
	mem, err := unix.Mmap(int(x.f.Fd()), int64(start), off+n-start, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	err = x.same("mapped", off, mem[off-start:], x.want[off:off+n])
	if x.rnd.IntN(2) == 0 {
		b := x.bytes(n)
		copy(mem[off-start:], b)
		copy(x.want[off:], b)
	}
	if x.rnd.IntN(2) == 0 {
		err = errors.Join(err, unix.Msync(mem, unix.MS_SYNC))
	}
	return errors.Join(err, unix.Munmap(mem))
}

func (x *fsx) sync() error {
	x.note("fsync")
	return x.f.Sync()
}

func (x *fsx) reopen() error {
	x.note("close and open")
	if err := x.f.Close(); err != nil {
		return err
	}
	return x.open(0)
}
