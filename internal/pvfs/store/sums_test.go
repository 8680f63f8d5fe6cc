package store

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest/memory"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/store/blocksum"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/store/disk"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/store/disk/disktest"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// A sumsWorld is a datafile in a store, and its expected contents.
type sumsWorld struct {
	t    *testing.T
	rng  *rand.Rand
	dir  string
	bad  *disktest.Disk
	boot string
	s    *Store
	h    proto.Handle
	data []byte
}

func newSumsWorld(t *testing.T, seed uint64, below disk.Disk) *sumsWorld {
	w := &sumsWorld{t: t, rng: rand.New(rand.NewPCG(seed, 17)), dir: memory.Dir(t), bad: &disktest.Disk{Below: below}, boot: "one"}
	w.open()
	w.h = create(t, w.s, DataSpace, proto.TypeDatafile)
	return w
}

func (w *sumsWorld) open() {
	w.t.Helper()
	w.bad.Set(nil)
	w.s = open(w.t, w.dir, with(func(o *Options) { o.Disk, o.Boot, o.SealEvery = w.bad, w.boot, 1<<62 }))
}

// someBytes are random ones, of a length that often ends within a block or at the end of one.
func (w *sumsWorld) someBytes() (b []byte, off int64) {
	near := func(most int) int {
		n := w.rng.IntN(most)
		if w.rng.IntN(3) == 0 {
			n = n / blocksum.Bytes * blocksum.Bytes
		}
		return n
	}
	off = int64(near(len(w.data) + 2*blocksum.Bytes))
	if w.rng.IntN(20) == 0 {
		off += regionBytes - 3*blocksum.Bytes
	}
	b = make([]byte, max(1, near(6*blocksum.Bytes)))
	if w.rng.IntN(4) > 0 { // others are zeros
		for i := range b {
			b[i] = byte(w.rng.Uint32())
		}
	}
	return b, off
}

func (w *sumsWorld) wrote(b []byte, off int64) {
	if end := int(off) + len(b); end > len(w.data) {
		w.data = append(w.data, make([]byte, end-len(w.data))...)
	}
	copy(w.data[off:], b)
}

// change writes or cuts off something.
func (w *sumsWorld) change() {
	w.t.Helper()
	if w.rng.IntN(5) == 0 {
		size := w.rng.IntN(len(w.data) + blocksum.Bytes)
		require.NoError(w.t, w.s.Truncate(w.h, int64(size)))
		w.data = append(w.data[:min(size, len(w.data)):min(size, len(w.data))], make([]byte, max(0, size-len(w.data)))...)
		return
	}
	b, off := w.someBytes()
	n, err := w.s.WriteAt(w.h, b, off)
	require.NoError(w.t, err)
	require.Equal(w.t, len(b), n)
	w.wrote(b, off)
}

// same compares all there is, in pieces.
func (w *sumsWorld) same() {
	w.t.Helper()
	got := make([]byte, len(w.data)+100)
	for at := 0; at < len(got); {
		n := 1 + w.rng.IntN(len(got)-at)
		k, err := w.s.ReadAt(w.h, got[at:at+n], int64(at))
		require.NoError(w.t, err)
		require.Equal(w.t, max(0, min(n, len(w.data)-at)), k)
		at += n
	}
	require.True(w.t, bytes.Equal(w.data, got[:len(w.data)]))
}

// scrub returns the damage that a scrub finds.
func (w *sumsWorld) scrub() (found []Damage) {
	w.t.Helper()
	require.NoError(w.t, w.s.Scrub(context.Background(), ScrubOptions{Found: func(d Damage) { found = append(found, d) }}))
	return found
}

// flip changes a bit of a file, as a disk may.
func flip(t *testing.T, path string, bit int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	var b [1]byte
	_, err = f.ReadAt(b[:], bit/8)
	require.NoError(t, err)
	b[0] ^= 1 << (bit % 8)
	_, err = f.WriteAt(b[:], bit/8)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

// TestSums: after random writes and truncations, with writes that the disk takes in pieces, all bytes match their sums, also
// after the store is opened again.
func TestSums(t *testing.T) {
	sim.Run(t, func(t *testing.T, seed uint64) {
		w := newSumsWorld(t, seed, nil)
		for round := range 4 {
			w.bad.Set(short(nil))
			for range 15 {
				w.change()
				if w.rng.IntN(10) == 0 {
					require.NoError(t, w.s.sealQuiet(w.s.files.pass.Add(1)-1))
				}
			}
			w.same()
			w.bad.Set(nil)
			require.Empty(t, w.scrub())
			require.NoError(t, w.s.Close())
			if round%2 == 1 {
				w.boot += "+"
			}
			w.open()
			w.same()
		}
		require.Zero(t, w.s.Stats().DamagedReads)
		require.Zero(t, w.s.Stats().Resummed, "a store that was closed is trusted in the next run of the machine")
	})
}

// TestWritesThatFail: if the disk refuses any step of a write, the blocks still match their sums.
func TestWritesThatFail(t *testing.T) {
	sim.Run(t, func(t *testing.T, seed uint64) {
		w := newSumsWorld(t, seed, nil)
		for range 20 {
			w.change()
			left := w.rng.IntN(4)
			w.bad.Set(func(op disktest.Op, path string) error {
				if op != disktest.Write && op != disktest.Truncate || !strings.Contains(path, dataName) {
					return nil
				}
				if left--; left == 0 {
					return syscall.EDQUOT // not ENOSPC, after which the store looks for room
				} else if left > 0 {
					return disktest.ErrShort
				}
				return nil
			})
			b, off := w.someBytes()
			n, err := w.s.WriteAt(w.h, b, off)
			w.bad.Set(nil)
			w.wrote(b[:n], off)
			if err != nil {
				require.ErrorIs(t, err, syscall.EDQUOT)
				size, err := w.s.Size(w.h)
				require.NoError(t, err)
				// A part of it may be there that was not acknowledged.
				got := make([]byte, size)
				_, err = w.s.ReadAt(w.h, got, 0)
				require.NoError(t, err)
				w.data = got
			}
			w.same()
		}
		require.Empty(t, w.scrub())
	})
}

// TestKilledWrites: a server that is killed in the midst of a write, after any of its calls, leaves blocks that the next one trusts: they have old bytes or new
// ones. Without the table of writes that would not be so.
func TestKilledWrites(t *testing.T) {
	damaged := 0
	for _, table := range []bool{true, false} {
		sim.Run(t, func(t *testing.T, seed uint64) {
			w := newSumsWorld(t, seed, nil)
			for range 10 {
				w.change()
			}
			left, kill := memory.Dir(t), 1+w.rng.IntN(6)
			before := bytes.Clone(w.data)
			for kill > 0 {
				before = bytes.Clone(w.data)
				w.bad.Set(w.plan(func() bool { kill--; return kill == 0 }, left))
				w.change()
			}
			if !table {
				require.NoError(t, os.Remove(filepath.Join(left, writesName)))
			}
			w.dir, w.bad = left, &disktest.Disk{}
			w.open()
			got := make([]byte, max(len(before), len(w.data)))
			n, err := w.s.ReadAt(w.h, got, 0)
			if !table {
				if err != nil {
					damaged++
				}
				return
			}
			require.NoError(t, err)
			for i, b := range got[:n] {
				was := i < len(before) && b == before[i] || i >= len(before) && b == 0
				require.True(t, was || i < len(w.data) && b == w.data[i], "byte %d", i)
			}
			require.Empty(t, w.scrub())
		})
	}
	require.Positive(t, damaged, "the test sees what the table is for")
}

// plan copies the store before a change of a file, when now returns true.
func (w *sumsWorld) plan(now func() bool, to string) disktest.Plan {
	return func(op disktest.Op, path string) error {
		if op != disktest.Write && op != disktest.Truncate || !strings.Contains(path, dataName) {
			return nil
		}
		if now() {
			require.NoError(w.t, os.CopyFS(to, os.DirFS(w.dir)))
		}
		if op == disktest.Write {
			return disktest.ErrShort
		}
		return nil
	}
}

// flipsFull is how many bits are flipped at full length.
const flipsFull = 10_000

// TestFlippedBits: no read gives bytes with a flipped bit, and a scrub names the datafile and the block. Other blocks are read as before. Writing
// the whole block, or cutting it off, mends it.
func TestFlippedBits(t *testing.T) {
	t.Parallel()
	w := newSumsWorld(t, 1, nil)
	flips := flipsFull
	if testing.Short() {
		flips = 300
	}
	for i := range flips {
		for range 1 + w.rng.IntN(3) {
			w.change()
		}
		if len(w.data) == 0 {
			continue
		}
		if w.rng.IntN(4) == 0 {
			require.NoError(t, w.s.sealQuiet(w.s.files.pass.Add(1)-1))
		}
		if w.rng.IntN(8) == 0 {
			require.NoError(t, w.s.Close())
			w.open()
		}
		blocks := blocksum.Count(int64(len(w.data)))
		bit := w.rng.Int64N(int64(len(w.data)) * 8)
		block := bit / 8 / blocksum.Bytes
		path := w.s.files.path(w.h)
		if size, err := w.s.files.disk.Size(w.s.files.sumsPath(w.h)); w.rng.IntN(5) == 0 && err == nil && size > blocksum.HeaderBytes {
			path, bit = w.s.files.sumsPath(w.h), blocksum.HeaderBytes*8+w.rng.Int64N((min(size, blocksum.Place(blocks))-blocksum.HeaderBytes)*8)
			block = (bit/8 - blocksum.HeaderBytes) / blocksum.SumBytes
		}
		flip(t, path, bit)
		w.damagedBlock(block, fmt.Sprintf("flip %d: bit %d of %s", i, bit, filepath.Base(path)))
		w.mend(block)
		w.same()
	}
}

// damagedBlock expects that one block cannot be read, and all others can.
func (w *sumsWorld) damagedBlock(block int64, what string) {
	w.t.Helper()
	from := block * blocksum.Bytes
	for range 3 {
		at := w.rng.Int64N(int64(len(w.data)))
		b := make([]byte, 1+w.rng.Int64N(int64(len(w.data))-at))
		n, err := w.s.ReadAt(w.h, b, at)
		end := at + int64(len(b))
		damaged := (*DamageError)(nil)
		if end <= from || at >= from+blocksum.Bytes {
			require.NoError(w.t, err, what)
		} else {
			require.ErrorAs(w.t, err, &damaged, what)
			require.ErrorIs(w.t, err, syscall.EIO)
			require.Equal(w.t, DamageError{w.h, from}, *damaged)
			require.LessOrEqual(w.t, at+int64(n), max(from, at))
		}
		require.True(w.t, bytes.Equal(w.data[at:at+int64(n)], b[:n]), what)
	}
	found := w.scrub()
	require.Len(w.t, found, 1, what)
	require.Equal(w.t, []any{w.h, from, int64(blocksum.Bytes)}, []any{found[0].Datafile, found[0].Offset, found[0].Length})
	if from+blocksum.Bytes <= int64(len(w.data)) {
		_, err := w.s.WriteAt(w.h, []byte{1}, from+7)
		require.ErrorIs(w.t, err, syscall.EIO, "of what stays of the block nobody knows what it was")
	}
}

// mend writes a damaged block, or cuts it off.
func (w *sumsWorld) mend(block int64) {
	w.t.Helper()
	from := int(block * blocksum.Bytes)
	if w.rng.IntN(4) == 0 {
		require.NoError(w.t, w.s.Truncate(w.h, int64(from)))
		w.data = w.data[:from:from]
		return
	}
	b := make([]byte, blocksum.Bytes)
	for i := range b {
		b[i] = byte(w.rng.Uint32())
	}
	_, err := w.s.WriteAt(w.h, b, int64(from))
	require.NoError(w.t, err)
	w.wrote(b, int64(from))
}

// TestFlippedHeaders: a damaged header of sums hides nothing. A scrub finds it and makes it anew.
func TestFlippedHeaders(t *testing.T) {
	t.Parallel()
	for bit := range int64(blocksum.HeaderBytes * 8) {
		w := newSumsWorld(t, uint64(bit), nil)
		for len(w.data) == 0 {
			w.change()
		}
		require.NoError(t, w.s.Close())
		flip(t, w.s.files.sumsPath(w.h), bit)
		if bit%2 == 0 {
			w.boot = "two"
		}
		w.open()
		w.same()
		require.Len(t, w.scrub(), 1)
		require.Empty(t, w.scrub())
		flip(t, w.s.files.path(w.h), w.rng.Int64N(int64(len(w.data)*8)))
		require.Len(t, w.scrub(), 1)
		require.NoError(t, w.s.Close())
		if testing.Short() && bit > 40 {
			break
		}
	}
}

// TestLostEnd: a scrub finds that a file has lost bytes at its end.
func TestLostEnd(t *testing.T) {
	w := newSumsWorld(t, 1, nil)
	b := bytes.Repeat([]byte{7}, 3*regionBytes)
	_, err := w.s.WriteAt(w.h, b, 0)
	require.NoError(t, err)
	require.NoError(t, os.Truncate(w.s.files.path(w.h), regionBytes+5000))
	got := make([]byte, len(b))
	_, err = w.s.ReadAt(w.h, got, 0)
	require.ErrorIs(t, err, syscall.EIO)
	found := w.scrub()
	require.Len(t, found, 2)
	require.EqualValues(t, regionBytes+blocksum.Bytes, found[0].Offset, "its last block is cut off")
	require.EqualValues(t, regionBytes+5000, found[1].Offset)
	require.EqualValues(t, 2*regionBytes-2*blocksum.Bytes, found[1].Length)
}

// TestSealedAfterPowerLoss: after a loss of power a block of a sealed file that does not match its sum is damaged. One of a file that was written shortly before gets a new sum, and
// is trusted from then on.
func TestSealedAfterPowerLoss(t *testing.T) {
	for _, sealed := range []bool{true, false} {
		t.Run(fmt.Sprintf("sealed=%v", sealed), func(t *testing.T) {
			w := newSumsWorld(t, 3, nil)
			for len(w.data) < 3*blocksum.Bytes {
				w.change()
			}
			require.NoError(t, w.s.sealQuiet(w.s.files.pass.Add(1)-1))
			if !sealed {
				require.NoError(t, w.s.SyncDatafile(w.h))
				w.change()
			}
			left := memory.Dir(t)
			require.NoError(t, w.s.Sync())
			require.NoError(t, os.CopyFS(left, os.DirFS(w.dir)))
			w.dir, w.boot, w.bad = left, "two", &disktest.Disk{}
			flip(t, filepath.Join(left, strings.TrimPrefix(w.s.files.path(w.h), w.s.dir)), 5)
			w.open()
			b := make([]byte, 100)
			_, err := w.s.ReadAt(w.h, b, 0)
			if sealed {
				require.ErrorIs(t, err, syscall.EIO)
				return
			}
			require.NoError(t, err)
			w.data[0] ^= 1 << 5
			w.same()
			require.Empty(t, w.scrub())
			require.EqualValues(t, 1, w.s.Stats().Resummed)
			flip(t, w.s.files.path(w.h), 9)
			_, err = w.s.ReadAt(w.h, b, 0)
			require.ErrorIs(t, err, syscall.EIO, "a scrub has looked at all of it")
		})
	}
}

// TestUnsealedBeforeWritten: the header of a sealed file is changed, and synced, before the first byte is.
func TestUnsealedBeforeWritten(t *testing.T) {
	for _, truncate := range []bool{false, true} {
		w := newSumsWorld(t, 4, nil)
		for len(w.data) < 3*blocksum.Bytes {
			w.change()
		}
		require.NoError(t, w.s.sealQuiet(w.s.files.pass.Add(1)-1))
		var calls []string
		w.bad.Set(func(op disktest.Op, path string) error {
			if op == disktest.Write || op == disktest.Truncate || op == disktest.Synced {
				calls = append(calls, fmt.Sprint(op, filepath.Ext(path)))
			}
			return nil
		})
		if truncate {
			require.NoError(t, w.s.Truncate(w.h, 5))
		} else {
			_, err := w.s.WriteAt(w.h, []byte("x"), 1)
			require.NoError(t, err)
		}
		require.GreaterOrEqual(t, len(calls), 3)
		require.Equal(t, []string{fmt.Sprint(disktest.Write, sumsSuffix), fmt.Sprint(disktest.Synced, sumsSuffix)}, calls[:2])
		require.Equal(t, 1, strings.Count(strings.Join(calls, " "), fmt.Sprint(disktest.Synced, sumsSuffix)), "only the first change waits for the disk")
		// A sync that fails keeps the write from happening.
		require.NoError(t, w.s.sealQuiet(w.s.files.pass.Add(1)-1))
		w.bad.Set(func(op disktest.Op, path string) error {
			if op == disktest.Sync && strings.HasSuffix(path, sumsSuffix) {
				return syscall.EIO
			}
			return nil
		})
		_, err := w.s.WriteAt(w.h, []byte("x"), 1)
		require.ErrorIs(t, err, syscall.EIO)
		w.bad.Set(nil)
	}
}

// TestSumsLost: a datafile whose sums a loss of power took is served as it is, and gets sums.
func TestSumsLost(t *testing.T) {
	w := newSumsWorld(t, 5, nil)
	for len(w.data) < 3*blocksum.Bytes {
		w.change()
	}
	require.NoError(t, w.s.Close())
	require.NoError(t, os.Remove(w.s.files.sumsPath(w.h)))
	w.open()
	w.same()
	require.Empty(t, w.scrub())
	flip(t, w.s.files.path(w.h), 77)
	require.Len(t, w.scrub(), 1)
}

// TestVerify: bytes that others read from the file are compared with the sums, in whole blocks and in parts.
func TestVerify(t *testing.T) {
	w := newSumsWorld(t, 6, nil)
	for len(w.data) < 5*blocksum.Bytes {
		w.change()
	}
	d, err := w.s.OpenData(w.h)
	require.NoError(t, err)
	defer d.Close()
	for range 200 {
		at := w.rng.IntN(len(w.data))
		n := 1 + w.rng.IntN(len(w.data)-at)
		require.NoError(t, d.Verify(w.data[at:at+n], int64(at)))
		bit := w.rng.Int64N(int64(n)*8) + int64(at)*8
		flip(t, w.s.files.path(w.h), bit)
		got := make([]byte, n)
		f, err := d.File()
		require.NoError(t, err)
		_, err = f.ReadAt(got, int64(at))
		require.NoError(t, err)
		damaged := (*DamageError)(nil)
		require.ErrorAs(t, d.Verify(got, int64(at)), &damaged)
		require.Equal(t, bit/8/blocksum.Bytes*blocksum.Bytes, damaged.Offset)
		require.False(t, d.InMemory(int64(at), n), "a damaged datafile is read through buffers")
		flip(t, w.s.files.path(w.h), bit)
	}
}

// TestReadsWhileTrusted: a block that does not match a sum that is not trusted is no damage, also if a scrub gives it a new sum and trusts it
// before the reader has decided.
func TestReadsWhileTrusted(t *testing.T) {
	const blocks = 64
	rounds := 40
	if testing.Short() {
		rounds = 10
	}
	for round := range rounds {
		w := newSumsWorld(t, uint64(round), nil)
		w.data = bytes.Repeat([]byte{1}, blocks*blocksum.Bytes)
		_, err := w.s.WriteAt(w.h, w.data, 0)
		require.NoError(t, err)
		require.NoError(t, w.s.Sync())
		dir := memory.Dir(t)
		require.NoError(t, os.CopyFS(dir, os.DirFS(w.dir)))
		path, err := filepath.Rel(w.dir, w.s.files.path(w.h))
		require.NoError(t, err)
		for i := range w.data { // what a loss of power can leave
			w.data[i] = 2
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, path), w.data, 0o600))
		s := open(t, dir, with(func(o *Options) { o.Boot, o.SealEvery = "two", 1<<62 }))
		var wg sync.WaitGroup
		for first := range 4 {
			wg.Go(func() {
				b := make([]byte, blocksum.Bytes)
				for i := range blocks {
					_, err := s.ReadAt(w.h, b, int64((first*blocks/4+i)%blocks)*blocksum.Bytes)
					assert.NoError(t, err)
				}
			})
		}
		wg.Go(func() { assert.NoError(t, s.Scrub(t.Context(), ScrubOptions{})) })
		wg.Wait()
		_, damaged := s.DamageOf(w.h)
		require.False(t, damaged)
	}
}
