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

// piecesMax is how many separate rewritten pieces of a marked datafile are remembered. A piece beyond that has to be written once
// more.
const piecesMax = 1024

// A mark says that a sync of a datafile failed. The kernel reports a failed sync once, and then treats the unwritten pages as
// clean. They may or may not be on the disk, and no later sync writes or reports them. So the mark stays until each byte that may
// be lost was written again or truncated, and a later sync has succeeded.
//
// The rewritten bytes are remembered only in memory: after a restart of the server all have to be written again.
type mark struct {
	length int64 // size at the failure, bytes: any of them may be lost
	name   bool  // the folder with the file's name could not be synced: only removing the datafile helps

	mu       sync.Mutex
	left     int64   // of length, the part not truncated since; 0 ≤ left ≤ length
	again    []piece // rewritten parts of left, in order and separate
	recorded bool    // the mark is in the database

	logged atomic.Bool // a failure to record it was logged
}

// A piece is the bytes from one offset up to another, exclusive.
type piece struct{ from, to int64 }

func newMark(length int64, name bool) *mark { return &mark{length: length, left: length, name: name} }

// wrote records that n bytes were written. The write began after the mark was made.
func (m *mark) wrote(off, n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := piece{off, min(off+n, m.left)}
	if p.from >= p.to {
		return
	}
	// Merge p with the pieces that it overlaps or touches.
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

// cut records a truncation, which began after the mark was made.
func (m *mark) cut(size int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.left = min(m.left, size)
}

// rewritten reports whether no byte may be lost any more: the next successful sync ends the mark.
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

// after returns the mark for another failure, at size length. m is the previous mark, or nil. Bytes rewritten since may be lost
// again. Truncated bytes may come back after a power loss.
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
	markName     = 1 // flag: name is set
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

// marks returns all marks. A mark whose record cannot be read says that all bytes may be lost.
func (t *Tx) marks() map[proto.Handle]*mark {
	all := map[proto.Handle]*mark{}
	c := t.table(tMarks).Cursor()
	for key, record := c.First(); key != nil; key, record = c.Next() {
		if len(key) != 8 {
			continue // Check reports it
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
