package ring

import "sync/atomic"

// A Reader is the reading side of a ring. One goroutine at a time uses it.
type Reader struct {
	memory
	at        uint64 // of the next record
	published uint64 // the value of at that the writer knows
	taken     int    // size in bytes of the record that Next returned, with its word, in whole lines
	broken    bool
}

// NewReader makes the reading side of a ring. The memory is all zero, except for what the writer
// has written since.
func NewReader(mem []byte) (*Reader, error) {
	m, err := newMemory(mem)
	if err != nil {
		return nil, err
	}
	return &Reader{memory: m}, nil
}

// RecordsMax returns the largest number of records in the ring.
func (r *Reader) RecordsMax() int { return len(r.data) / Line }

// publishEvery is the part of the space after which the reader publishes its position while there is
// more to read. When there is not, it publishes at once.
const publishEvery = 8

// Next returns the oldest unread record, in shared memory: the writer may change it at any time. It
// is valid until the next call. ok is false if there is none. After the error ErrCorrupt, every
// call returns it.
func (r *Reader) Next() (record []byte, ok bool, err error) {
	r.at += uint64(r.taken)
	r.taken = 0
	for range 2 {
		word := load(r.word(r.at))
		if word == 0 {
			r.publishPosition(1)
			return nil, false, r.err()
		}
		if r.broken || word&^uint64(skip) != place(r.at) {
			break
		}
		n := word & skip
		if n == skip {
			if r.left(r.at) == len(r.data) {
				break // the whole space is never too short
			}
			r.at += uint64(r.left(r.at))
			continue
		}
		if n == 0 || n > uint64(RecordMax(len(r.data))) || lines(int(n)) > r.left(r.at) {
			break
		}
		r.publishPosition(uint64(len(r.data)) / publishEvery)
		r.taken = lines(int(n))
		return r.record(r.at, int(n)), true, nil
	}
	r.broken = true
	return nil, false, ErrCorrupt
}

func (r *Reader) err() error {
	if r.broken {
		return ErrCorrupt
	}
	return nil
}

// publishPosition publishes this side's position if it is at least least bytes ahead of the published one.
func (r *Reader) publishPosition(least uint64) {
	if r.at-r.published >= least {
		r.published = r.at
		publish(r.read, r.at)
	}
}

// Arm asks to be woken when a record comes. It returns false if one is there, and then has not
// asked.
func (r *Reader) Arm() bool {
	atomic.SwapUint32(r.sleep, 1) // a full fence before the check of the word
	if load(r.word(r.at+uint64(r.taken))) == 0 {
		return true
	}
	r.Disarm()
	return false
}

// Disarm undoes Arm.
func (r *Reader) Disarm() { atomic.StoreUint32(r.sleep, 0) }
