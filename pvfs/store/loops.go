package store

import (
	"encoding/binary"
	"os"

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
	bucketBytes      = 16 // the root page of a bucket, or 0 if it has none, and a counter
)

// checkLoops makes sure that no page is reached from the root in two ways. Who follows a tree that leads back to
// itself takes all memory, and nothing that bbolt offers notices. Other damage is left to who comes upon it.
func (s *Store) checkLoops() error {
	return guard("verify", func() error {
		tx, err := s.db.Begin(false)
		if err != nil {
			return err
		}
		defer tx.Rollback() // of a reader it cannot fail
		file, err := os.Open(s.db.Path())
		if err != nil {
			return err
		}
		defer file.Close() // it was only read
		info, err := file.Stat()
		if err != nil {
			return err
		}
		w := pageWalk{file: file, pageBytes: uint64(s.db.Info().PageSize)}
		w.pages = uint64(min(tx.Size(), info.Size())) / w.pageBytes
		w.seen = make([]uint64, w.pages/64+1)
		return w.from(rootPage(tx))
	})
}

func rootPage(tx *bolt.Tx) uint64 { return uint64(tx.Cursor().Bucket().Root()) }

// A pageWalk goes through the pages of a database.
type pageWalk struct {
	file      *os.File
	pageBytes uint64
	pages     uint64   // that the database has
	seen      []uint64 // a bit for each
	found     []uint64 // pages to look at
}

// from looks at all pages that a page leads to.
func (w *pageWalk) from(root uint64) error {
	w.found = append(w.found, root)
	for len(w.found) > 0 {
		id := w.found[len(w.found)-1]
		w.found = w.found[:len(w.found)-1]
		if id >= w.pages {
			continue
		}
		if w.seen[id/64]&(1<<(id%64)) != 0 {
			return damaged("database: page %d is in the tree twice", id)
		}
		w.seen[id/64] |= 1 << (id % 64)
		w.look(id)
	}
	return nil
}

// look finds what a page refers to.
func (w *pageWalk) look(id uint64) {
	b := make([]byte, w.pageBytes)
	if _, err := w.file.ReadAt(b, int64(id*w.pageBytes)); err != nil {
		return
	}
	kind, count := binary.NativeEndian.Uint16(b[8:]), int(binary.NativeEndian.Uint16(b[10:]))
	if more := uint64(binary.NativeEndian.Uint32(b[12:])); more > 0 && more < w.pages-id {
		b = make([]byte, (more+1)*w.pageBytes)
		if _, err := w.file.ReadAt(b, int64(id*w.pageBytes)); err != nil {
			return
		}
	}
	for at := pageHeaderBytes; count > 0 && at+pageElementBytes <= len(b); at, count = at+pageElementBytes, count-1 {
		e := b[at:]
		switch kind {
		case pageBranch:
			w.found = append(w.found, binary.NativeEndian.Uint64(e[8:]))
		case pageLeaf:
			value := uint64(binary.NativeEndian.Uint32(e[4:])) + uint64(binary.NativeEndian.Uint32(e[8:]))
			if binary.NativeEndian.Uint32(e)&elementIsBucket != 0 && value+bucketBytes <= uint64(len(e)) {
				if root := binary.NativeEndian.Uint64(e[value:]); root != 0 {
					w.found = append(w.found, root)
				}
			}
		}
	}
}
