package store

import (
	"encoding/binary"
	"hash/fnv"
	"io"
	"os"
	"slices"

	bolt "go.etcd.io/bbolt"
)

// The layout of bbolt's pages, as far as references from one to another go (its internal/common/page.go): a header
// of id, kind, number of elements and number of pages that follow as part of it; then the elements.
const (
	pageHeaderBytes  = 16
	pageElementBytes = 16
	pageBranch       = 1
	pageLeaf         = 2
	elementIsBucket  = 1
	bucketBytes      = 16 // what a table has in front: its root and a number

	pageMax       = 1 << 40              // beyond, the place of a page may be a number that does not fit, and so that of another page
	metaPages     = 2                    // the first pages, in turn
	metaFreePages = pageHeaderBytes + 32 // in a meta page: where the list of free pages is
	metaSumAt     = pageHeaderBytes + 56 // in a meta page: FNV-1a of what is between its header and this
)

// checkLoops makes sure that no page is reached from the root in two ways. Who follows a tree that leads back to
// itself takes all memory, and nothing that bbolt offers notices. Other damage is left to who comes upon it, but for what
// long tells of: a page that is said to go on beyond the end, a key or a record that does, and a meta page with a wrong checksum. Reading it does no harm, but checking or freeing it takes all memory
// as well, or reads where the database is not mapped.
//
// Beyond verifyMax it does not look into leaves, which are all but every hundredth page and lead nowhere: which pages
// they are it takes from the first one under a branch, as all leaves of a tree have the same depth.
func (s *Store) checkLoops() (long, err error) {
	err = guard("verify", func() error {
		tx, err := s.db.Begin(false)
		if err != nil {
			return err
		}
		defer tx.Rollback() // of a reader it cannot fail
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
		// Every page is wanted, and a disk gives them faster in a row than one by one. What cannot be read is noticed below.
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
		w.leaves = leaves // of the first tree they have the roots of the tables
	}
	return w.long, nil
}

func rootPage(tx *bolt.Tx) uint64 { return uint64(tx.Cursor().Bucket().Root()) }

// A pageWalk goes through the pages of a database.
type pageWalk struct {
	file      *os.File
	pageBytes uint64
	pages     uint64   // that the database has
	leaves    bool     // look into leaves
	seen      []uint64 // a bit for each page that something refers to
	roots     []uint64 // of trees to look at
	buf       []byte   // of elements
	room      uint64   // of the page whose header was read last, bytes, with those that follow as part of it
	long      error    // a page is said to go on beyond the end, or a key is
}

// trees looks at all pages of the trees of w.roots, and leaves there the roots of those that their leaves have.
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
			// Whatever is no leaf bbolt takes for a branch, and a branch for one with an element.
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

// mark notes that something refers to pages, for the first time to each of them.
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

// metas looks at the two pages that lead to all others. bbolt takes the other one if one is damaged, and with it an older state. A restored state
// (checkpoint.go) has an empty one.
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

// freePages is the first page of the list of free pages, as the transaction's meta page has it.
func (w *pageWalk) freePages(tx *bolt.Tx) uint64 {
	var b [8]byte
	if !w.read(b[:], uint64(tx.ID())%metaPages, metaFreePages) {
		return w.pages
	}
	return binary.NativeEndian.Uint64(b[:])
}

// header is the kind of a page, and how many elements it has; 0 if it is not there.
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

// children are the pages that a branch leads to. Its header was read just before.
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

// tables adds the roots of the tables whose names are in a leaf. Its header was read just before.
// A small table has no root: its one page, a leaf, is in place of it, and taken for a branch it would lead to itself.
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

// elements are those of a page, until the next call; none if they cannot be read.
func (w *pageWalk) elements(id uint64, count int) []byte {
	n := count * pageElementBytes
	w.buf = slices.Grow(w.buf[:0], n)[:n]
	if !w.read(w.buf, id, pageHeaderBytes) {
		return nil
	}
	return w.buf
}

// read reads from a place in a page, or in those that follow as part of it.
func (w *pageWalk) read(b []byte, id, at uint64) bool {
	_, err := w.file.ReadAt(b, int64(id*w.pageBytes+at))
	return err == nil
}
