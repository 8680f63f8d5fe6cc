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

	"golang.org/x/sys/unix"
)

const (
	// blockBytes is how much is read and written at once. The client divides it among
	// servers, each of which gets one request for its part: with small ones stock servers are
	// slower by a third.
	blockBytes = 16 << 20
	// blocksAtOnce is how many blocks of one file are under way: the next request waits while
	// the bytes of the last one move.
	blocksAtOnce = 2
	// The same for files that their servers put into memory of the client by themselves. It is in
	// small pages, which have to be made, so small files are copied as others are.
	sharedBytes  = 4 << 20
	sharedAtOnce = 3
	sharedMin    = 2 * sharedBytes
)

// blocks are kept for the next file.
var blocks = sync.Pool{New: func() any { b := newBlock(blockBytes); return &b }}

// newBlock is a block that lies in huge pages where the system has some: the kernel moves it faster between
// files, sockets and processes.
func newBlock(size int) []byte {
	const huge = 2 << 20
	b := make([]byte, size+huge)
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) % huge)
	b = b[skip : skip+size : skip+size]
	_ = unix.Madvise(b, unix.MADV_HUGEPAGE) // small pages do, too
	return b
}

// A sharedReader has memory of its own to read into (client.File); nil: it has not.
type sharedReader interface {
	ReadMemory(size int) []byte
	ReturnMemory(mem []byte)
}

// A lendingReader reads into blocks of its own alone.
type lendingReader interface {
	lender() (borrow lend, blockSize, atOnce int64)
}

// A lend gives a block to copy through, until back is called.
type lend func() (block []byte, back func())

// lenderOf says which blocks to copy a file through, how long they are, and how many to have under way.
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
		if block == nil { // the file system is closed, or the machine's memory is full
			return make([]byte, sharedBytes), func() {}
		}
		return block, func() { f.ReturnMemory(block) }
	}, sharedBytes, sharedAtOnce
}

func ownBlock() ([]byte, func()) {
	block := blocks.Get().(*[]byte)
	return *block, func() { blocks.Put(block) }
}

// copyBytes copies the first size bytes of a file, several blocks at once, and gives how many
// there were: a file may become shorter meanwhile. done is told of each block.
func copyBytes(ctx context.Context, to io.WriterAt, from io.ReaderAt, size int64, done func(bytes int)) (int64, error) {
	var (
		next, total atomic.Int64
		once        sync.Once
		failed      error
		all         sync.WaitGroup
	)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	fail := func(err error) { once.Do(func() { failed = err; cancel() }) }
	borrow, each, atOnce := lenderOf(from, size)
	work := func() {
		block, back := borrow()
		defer back()
		for {
			off := next.Add(each) - each
			if off >= size || ctx.Err() != nil {
				return
			}
			b := block[:min(each, size-off)]
			n, err := from.ReadAt(b, off)
			if err != nil && !errors.Is(err, io.EOF) {
				fail(err)
				return
			}
			if _, err := to.WriteAt(b[:n], off); err != nil {
				fail(err)
				return
			}
			total.Add(int64(n))
			done(n)
		}
	}
	for range max(1, min(atOnce, (size+each-1)/each)) {
		all.Go(work)
	}
	all.Wait()
	if failed == nil {
		failed = context.Cause(ctx)
	}
	return total.Load(), failed
}

// stream reads a file from its beginning to its end in blocks, one ahead of what w takes.
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

// verify reads a file and its copy again, and compares their SHA-256.
func verify(ctx context.Context, from, to io.ReaderAt) (sum [32]byte, err error) {
	var sums [2][32]byte
	var errs [2]error
	var all sync.WaitGroup
	for i, f := range []io.ReaderAt{from, to} {
		all.Go(func() {
			h := sha256.New()
			_, errs[i] = stream(ctx, h, f, func(int) {})
			h.Sum(sums[i][:0])
		})
	}
	all.Wait()
	if err := errors.Join(errs[0], errs[1]); err != nil {
		return sum, fmt.Errorf("verify: %w", err)
	}
	if sums[0] != sums[1] {
		return sum, fmt.Errorf("%w: the original has %x, the copy %x", errChecksum, sums[0], sums[1])
	}
	return sums[0], nil
}
