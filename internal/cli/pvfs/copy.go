package pvfs

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

const (
	// blockBytes is the size of one read and write. The client divides it among the servers, with one request for each. With
	// small requests stock servers are a third slower.
	blockBytes = 16 << 20
	// blocksAtOnce is how many blocks of one file are under way: the next request waits while the data of the previous one move.
	blocksAtOnce = 2
	// The same for files that servers copy directly into the client's memory. That memory has small pages, which must be
	// allocated first, so small files are copied in the other way.
	sharedBytes  = 4 << 20
	sharedAtOnce = 3
	sharedMin    = 2 * sharedBytes
)

// blocks has free blocks for the next file.
var blocks = sync.Pool{New: func() any { b := newBlock(blockBytes); return &b }}

// newBlock makes a block in huge pages, if the system has some. The kernel copies these faster between files, sockets and
// processes.
func newBlock(size int) []byte {
	const huge = 2 << 20
	b := make([]byte, size+huge)
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) % huge)
	b = b[skip : skip+size : skip+size]
	_ = unix.Madvise(b, unix.MADV_HUGEPAGE) // without huge pages it works too
	return b
}

// A sharedReader has its own memory for reads (client.File); nil: it has none.
type sharedReader interface {
	ReadMemory(size int) []byte
	ReturnMemory(mem []byte)
}

// A lendingReader only reads into its own blocks.
type lendingReader interface {
	lender() (borrow lend, blockSize, atOnce int64)
}

// A lend returns a block for a copy. The copy must call back when it no longer needs the block.
type lend func() (block []byte, back func())

// lenderOf returns the lender of blocks for a copy, the size of the blocks, and how many are in use at once.
func lenderOf(from io.ReaderAt, size int64) (borrow lend, blockSize, atOnce int64) {
	if l, ok := from.(lendingReader); ok {
		return l.lender()
	}
	f, ok := from.(sharedReader)
	if !ok || size < sharedMin {
		return ownBlock, blockBytes, blocksAtOnce
	}
	block := f.ReadMemory(sharedBytes)
	if block == nil {
		return ownBlock, blockBytes, blocksAtOnce
	}
	f.ReturnMemory(block)
	return func() ([]byte, func()) {
		block := f.ReadMemory(sharedBytes)
		if block == nil { // the file system is closed, or memory is full
			return make([]byte, sharedBytes), func() {}
		}
		return block, func() { f.ReturnMemory(block) }
	}, sharedBytes, sharedAtOnce
}

func ownBlock() ([]byte, func()) {
	block := blocks.Get().(*[]byte)
	return *block, func() { blocks.Put(block) }
}

// copyBytes copies the first size bytes of a file, several blocks in parallel. It returns the number of bytes copied, because the
// file may become shorter meanwhile. done is called for each block.
func copyBytes(ctx context.Context, to io.WriterAt, from io.ReaderAt, size int64, done func(bytes int)) (int64, error) {
	var next, total atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	borrow, each, atOnce := lenderOf(from, size)
	work := func() error {
		block, back := borrow()
		defer back()
		for {
			off := next.Add(each) - each
			if off >= size || ctx.Err() != nil {
				return context.Cause(ctx)
			}
			b := block[:min(each, size-off)]
			n, err := from.ReadAt(b, off)
			if err != nil && !errors.Is(err, io.EOF) {
				return err
			}
			if _, err := to.WriteAt(b[:n], off); err != nil {
				return err
			}
			total.Add(int64(n))
			done(n)
		}
	}
	for range max(1, min(atOnce, (size+each-1)/each)) {
		group.Go(work)
	}
	err := group.Wait()
	return total.Load(), err
}

// stream reads a file from start to end in blocks, one block ahead of the writes to w.
func stream(ctx context.Context, w io.Writer, from io.ReaderAt, done func(bytes int)) (int64, error) {
	type piece struct {
		block *[]byte
		n     int
		err   error
	}
	ctx, cancel := context.WithCancel(ctx)
	pieces := make(chan piece, 1)
	var reader sync.WaitGroup
	reader.Go(func() {
		defer close(pieces)
		for off := int64(0); ; {
			p := piece{block: blocks.Get().(*[]byte)}
			p.n, p.err = from.ReadAt(*p.block, off)
			off += int64(p.n)
			select {
			case pieces <- p:
			case <-ctx.Done():
				return
			}
			if p.err != nil {
				return
			}
		}
	})
	defer reader.Wait()
	defer cancel()
	var total int64
	for p := range pieces {
		n, err := w.Write((*p.block)[:p.n])
		blocks.Put(p.block)
		total += int64(n)
		done(n)
		if err == nil && !errors.Is(p.err, io.EOF) {
			err = p.err
		}
		if err != nil {
			return total, err
		}
	}
	return total, ctx.Err()
}

// verify reads a file and its copy, and compares their SHA-256.
func verify(ctx context.Context, from, to io.ReaderAt) (sum [32]byte, err error) {
	var sums [2][32]byte
	var group errgroup.Group
	for i, f := range []io.ReaderAt{from, to} {
		group.Go(func() error {
			h := sha256.New()
			_, err := stream(ctx, h, f, func(int) {})
			h.Sum(sums[i][:0])
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return sum, fmt.Errorf("verify: %w", err)
	}
	if sums[0] != sums[1] {
		return sum, fmt.Errorf("%w: the original has %x, the copy %x", errChecksum, sums[0], sums[1])
	}
	return sums[0], nil
}
