package store

import (
	"encoding/binary"
	"hash/fnv"
	"io"
	"os"
	"slices"

	bolt "go.etcd.io/bbolt"
)

// The layout of bbolt's pages, as far as references between pages need it (its internal/common/page.go). A page has a header with
// id, kind, number of elements and number of overflow pages that follow it, and then the elements.
const (
	pageHeaderBytes  = 16
	pageElementBytes = 16
	pageBranch       = 1
	pageLeaf         = 2
	elementIsBucket  = 1
	bucketBytes      = 16 // at the start of a bucket's value: its root and a sequence number

	pageMax       = 1 << 40              // above this, the byte offset of a page may overflow, and equal that of another page
	metaPages     = 2                    // the first pages, used in turn
	metaFreePages = pageHeaderBytes + 32 // in a meta page: first page of the free list
	metaSumAt     = pageHeaderBytes + 56 // in a meta page: FNV-1a of the bytes between its header and this
)

// checkLoops checks that no page is reachable from the root in two ways. A walk through a tree that contains itself would take
// all memory, and bbolt has no check for that. Most other damage is left to the code that meets it. long reports three kinds: a
// page whose length goes beyond the end, a key or record that does, and a meta page with a wrong checksum. Reading these does no
// harm, but checking or freeing the page also takes all memory, or reads outside the mapping.
//
// If the database is larger than verifyMax, it does not read leaves, which are 99 of 100 pages and refer to no others. The first
// page below a branch shows whether the pages there are leaves, because all leaves of a tree have the same depth.
func (s *Store) checkLoops() (long, err error) {
	err = guard("verify", func() error {
		tx, err := s.db.Begin(false)
		if err != nil {
			return err
		}
		defer tx.Rollback() // cannot fail for a reader
		long, err = findLoops(tx, tx.Size() <= verifyMax)
		return err
	})
	return long, err
}

func findLoops(tx *bolt.Tx, leaves bool) (long, err error) {
	file, err := os.Open(tx.DB().Path())
	if err != nil {
		return nil, err
	}
	defer file.Close() // it was only read
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if leaves {
		// All pages are needed, and a disk reads faster in sequence. Read errors are noticed below.
		_, _ = io.Copy(io.Discard, file)
	}
	w := pageWalk{file: file, pageBytes: uint64(tx.DB().Info().PageSize), leaves: true}
	w.pages = uint64(min(tx.Size(), info.Size())) / w.pageBytes
	w.seen = make([]uint64, w.pages/64+1)
	w.header(w.freePages(tx))
	w.metas()
	for w.roots = []uint64{rootPage(tx)}; len(w.roots) > 0; {
		if err := w.trees(); err != nil {
			return nil, err
		}
		w.leaves = leaves // the leaves of the first tree have the roots of the tables
	}
	return w.long, nil
}

func rootPage(tx *bolt.Tx) uint64 { return uint64(tx.Cursor().Bucket().Root()) }

// A pageWalk walks through the pages of a database.
type pageWalk struct {
	file      *os.File
	pageBytes uint64
	pages     uint64   // of the database
	leaves    bool     // read leaves
	seen      []uint64 // a bit for each page with a reference to it
	roots     []uint64 // of trees still to walk
	buf       []byte   // for elements
	room      uint64   // bytes of the page whose header was read last, including its overflow pages
	long      error    // a page or a key goes beyond the end
}

// trees walks the trees of w.roots. It replaces w.roots by the roots of the trees in their leaves.
func (w *pageWalk) trees() error {
	found := w.roots
	w.roots = nil
	if err := w.mark(found); err != nil {
		return err
	}
	for len(found) > 0 {
		id := found[len(found)-1]
		found = found[:len(found)-1]
		switch kind, count := w.header(id); {
		case kind == pageLeaf:
			if err := w.tables(id, count); err != nil {
				return err
			}
		case id < w.pages:
			// bbolt takes every page that is not a leaf for a branch with at least one element.
			below := w.children(id, max(count, 1))
			if err := w.mark(below); err != nil {
				return err
			}
			if len(below) > 0 && !w.leaves {
				if first, _ := w.header(below[0]); first == pageLeaf {
					continue
				}
			}
			found = append(found, below...)
		}
	}
	return nil
}

// mark records references to pages. A second reference to a page is an error.
func (w *pageWalk) mark(ids []uint64) error {
	for _, id := range ids {
		if id > pageMax {
			return damaged("database: page %d is in the tree", id)
		}
		if id >= w.pages {
			continue
		}
		if w.seen[id/64]&(1<<(id%64)) != 0 {
			return damaged("database: page %d is in the tree twice", id)
		}
		w.seen[id/64] |= 1 << (id % 64)
	}
	return nil
}

// metas checks the two meta pages, which lead to all others. If one is damaged, bbolt uses the other, which has an older state.
// After a restore (checkpoint.go) one is empty.
func (w *pageWalk) metas() {
	for id := range uint64(metaPages) {
		var b [metaPageBytes]byte
		if !w.read(b[:], id, 0) || allZero(b[pageHeaderBytes:]) {
			continue
		}
		sum := fnv.New64a()
		_, _ = sum.Write(b[pageHeaderBytes:metaSumAt])
		if binary.NativeEndian.Uint64(b[metaSumAt:]) != sum.Sum64() && w.long == nil {
			w.long = damaged("database: meta page %d has a wrong checksum: what was committed last may be missing", id)
		}
	}
}

// freePages is the first page of the free list, from the transaction's meta page.
func (w *pageWalk) freePages(tx *bolt.Tx) uint64 {
	var b [8]byte
	if !w.read(b[:], uint64(tx.ID())%metaPages, metaFreePages) {
		return w.pages
	}
	return binary.NativeEndian.Uint64(b[:])
}

// header is the kind of a page, and its number of elements; 0 if it cannot be read.
func (w *pageWalk) header(id uint64) (kind, count int) {
	var b [pageHeaderBytes]byte
	if id >= w.pages || !w.read(b[:], id, 0) {
		return 0, 0
	}
	more := uint64(binary.NativeEndian.Uint32(b[12:]))
	if id+more >= w.pages && w.long == nil {
		w.long = damaged("database: page %d is said to go on for %d pages, beyond the end", id, more)
	}
	w.room = (more + 1) * w.pageBytes
	return int(binary.NativeEndian.Uint16(b[8:])), int(binary.NativeEndian.Uint16(b[10:]))
}

// children are the pages below a branch whose header was just read.
func (w *pageWalk) children(id uint64, count int) []uint64 {
	all := w.elements(id, count)
	ids := make([]uint64, 0, count)
	at := uint64(pageHeaderBytes)
	for e := range slices.Chunk(all, pageElementBytes) {
		key := uint64(binary.NativeEndian.Uint32(e[4:]))
		if end := at + uint64(binary.NativeEndian.Uint32(e)) + key; (key > keyMax || end > w.room) && w.long == nil {
			w.long = damaged("database: page %d has a key of %d bytes, beyond its end", id, key)
		}
		at += pageElementBytes
		ids = append(ids, binary.NativeEndian.Uint64(e[8:]))
	}
	return ids
}

// tables adds the roots of the tables in a leaf whose header was just read. A small table has no root: its only page, a leaf, is
// inside the record. Taken for a branch, it would refer to itself.
func (w *pageWalk) tables(id uint64, count int) error {
	at := uint64(pageHeaderBytes)
	for e := range slices.Chunk(w.elements(id, count), pageElementBytes) {
		key, length := uint64(binary.NativeEndian.Uint32(e[8:])), uint64(binary.NativeEndian.Uint32(e[12:]))
		value := at + uint64(binary.NativeEndian.Uint32(e[4:])) + key
		if (key > keyMax || value+length > w.room) && w.long == nil {
			w.long = damaged("database: page %d has a key of %d bytes with %d bytes, beyond its end", id, key, length)
		}
		var table [bucketBytes + pageHeaderBytes]byte
		if binary.NativeEndian.Uint32(e)&elementIsBucket != 0 && w.read(table[:], id, value) {
			if root := binary.NativeEndian.Uint64(table[:]); root != 0 {
				w.roots = append(w.roots, root)
			} else if kind := binary.NativeEndian.Uint16(table[bucketBytes+8:]); kind != pageLeaf {
				return damaged("database: a table in page %d is of kind %d", id, kind)
			}
		}
		at += pageElementBytes
	}
	return nil
}

// elements are the elements of a page, valid until the next call; none if they cannot be read.
func (w *pageWalk) elements(id uint64, count int) []byte {
	n := count * pageElementBytes
	w.buf = slices.Grow(w.buf[:0], n)[:n]
	if !w.read(w.buf, id, pageHeaderBytes) {
		return nil
	}
	return w.buf
}

// read reads at an offset in a page or its overflow pages.
func (w *pageWalk) read(b []byte, id, at uint64) bool {
	_, err := w.file.ReadAt(b, int64(id*w.pageBytes+at))
	return err == nil
}
