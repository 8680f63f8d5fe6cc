package store

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// piecesMax is how many pieces of a marked datafile that were written again are remembered while they lie
// apart. A piece that finds no room has to be written once more.
const piecesMax = 1024

// A mark says that a sync of a datafile failed. The kernel reports that once, and then takes the pages that it could
// not write for clean: they may be on the disk or not, and no later sync writes them or tells. So the mark stays until
// each byte that may be lost has been written again, or cut off, and a sync after that has succeeded.
//
// What was written again is remembered in memory alone: another run of the server begins anew.
type mark struct {
	length int64 // at the failure, bytes: each of them may be lost
	name   bool  // the folder with the file's name could not be synced. Only removing the datafile helps.

	mu       sync.Mutex
	left     int64   // of length, what was not cut off since; 0 ≤ left ≤ length
	again    []piece // within left, written again; in order, apart from one another
	recorded bool    // it is in the database

	told atomic.Bool // it was logged that it is not
}

// A piece is the bytes from one place to another, which it does not include.
type piece struct{ from, to int64 }

func newMark(length int64, name bool) *mark { return &mark{length: length, left: length, name: name} }

// wrote notes that n bytes were written. The write began when there was the mark.
func (m *mark) wrote(off, n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := piece{off, min(off+n, m.left)}
	if p.from >= p.to {
		return
	}
	// Those that p meets or touches become one with it.
	i, _ := slices.BinarySearchFunc(m.again, p, func(a, p piece) int { return cmp.Compare(a.to, p.from) })
	j := i
	for ; j < len(m.again) && m.again[j].from <= p.to; j++ {
		p.from, p.to = min(p.from, m.again[j].from), max(p.to, m.again[j].to)
	}
	if i == j && len(m.again) >= piecesMax {
		return
	}
	m.again = slices.Replace(m.again, i, j, p)
}

// cut notes that the datafile was cut off. That began when there was the mark.
func (m *mark) cut(size int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.left = min(m.left, size)
}

// rewritten reports whether nothing that may be lost is left: the next sync that succeeds ends the mark.
func (m *mark) rewritten() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.name && (m.left == 0 || len(m.again) > 0 && m.again[0].from == 0 && m.again[0].to >= m.left)
}

// wasRecorded reports whether the mark is in the database.
func (m *mark) wasRecorded() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.recorded
}

// after returns the mark of a failure that follows the one of m, which may be nil, when there are so many bytes. What was
// written again since then may be lost again. What was cut off may come back with a loss of power.
func (m *mark) after(length int64, name bool) *mark {
	next := newMark(length, name)
	if m == nil {
		return next
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	next.length, next.left, next.name = max(m.length, length), max(m.left, length), m.name || name
	return next
}

// The record of a mark: uvarint flags, uvarint length.
const (
	markName     = 1 // flag: the name
	markFlags    = markName
	markBytesMax = 2 * binary.MaxVarintLen64
)

func sealMark(key []byte, m *mark) []byte {
	flags := uint64(0)
	if m.name {
		flags |= markName
	}
	return seal(key, markBytesMax, func(b []byte) []byte {
		return binary.AppendUvarint(binary.AppendUvarint(b, flags), uint64(m.length))
	})
}

func unsealMark(key, record []byte) (*mark, error) {
	body, err := unseal(key, record)
	if err != nil {
		return nil, err
	}
	r := reader{b: body}
	flags, length := r.uvarint(math.MaxUint64), r.uvarint(math.MaxInt64)
	if r.bad || len(r.b) > 0 || flags&^markFlags != 0 {
		return nil, damaged("mark of a failed sync with a malformed record")
	}
	m := newMark(int64(length), flags&markName != 0)
	m.recorded = true
	return m, nil
}

// marks returns all there are. One whose record cannot be read says that everything may be lost.
func (t *Tx) marks() map[proto.Handle]*mark {
	all := map[proto.Handle]*mark{}
	b := t.tx.Bucket([]byte(tableNames[tMarks]))
	if b == nil {
		return all // a store that an older version made, opened to be read
	}
	c := b.Cursor()
	for key, record := c.First(); key != nil; key, record = c.Next() {
		if len(key) != 8 {
			continue // Check says so
		}
		m, err := unsealMark(key, record)
		if err != nil {
			m = newMark(math.MaxInt64, false)
			m.recorded = true
		}
		all[keyHandle(key)] = m
	}
	return all
}
