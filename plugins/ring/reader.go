package ring

import "sync/atomic"

// A Reader is the side that reads. One goroutine at a time uses it.
type Reader struct {
	memory
	at     uint64 // of the next record
	told   uint64 // what the writer was told of that
	taken  int    // lines of the record that Next gave, in bytes
	broken bool
}

// NewReader makes the reading side of a ring in memory that is all zero, but for what
// its writer has done since.
func NewReader(mem []byte) (*Reader, error) {
	m, err := newMemory(mem)
	if err != nil {
		return nil, err
	}
	return &Reader{memory: m}, nil
}

// RecordsMax is how many records the room has a place for.
func (r *Reader) RecordsMax() int { return len(r.data) / Line }

// tellEvery is the part of the room after which the writer is told that it was read,
// while there is more to read; it is told at once when there is not.
const tellEvery = 8

// Next gives the oldest record that was not read, in shared memory: the writer may
// change it at any time. It is valid until the next call. ok is false if there is none.
// The error is ErrCorrupt, and stays.
func (r *Reader) Next() (record []byte, ok bool, err error) {
	r.at += uint64(r.taken)
	r.taken = 0
	for range 2 {
		word := load(r.word(r.at))
		if word == 0 {
			r.tell(1)
			return nil, false, r.err()
		}
		if r.broken || word&^uint64(skip) != place(r.at) {
			break
		}
		n := word & skip
		if n == skip {
			if r.left(r.at) == len(r.data) {
				break // the whole room cannot be too short
			}
			r.at += uint64(r.left(r.at))
			continue
		}
		if n == 0 || n > uint64(RecordMax(len(r.data))) || lines(int(n)) > r.left(r.at) {
			break
		}
		r.tell(uint64(len(r.data)) / tellEvery)
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

// tell says how far this side is, if that is news of at least so many bytes.
func (r *Reader) tell(least uint64) {
	if r.at-r.told >= least {
		r.told = r.at
		publish(r.read, r.at)
	}
}

// Arm asks to be woken when a record comes. It reports false if one is there, and then
// has asked for nothing.
func (r *Reader) Arm() bool {
	atomic.SwapUint32(r.sleep, 1) // a full fence, before the look at the word
	if load(r.word(r.at+uint64(r.taken))) == 0 {
		return true
	}
	r.Disarm()
	return false
}

// Disarm takes Arm back.
func (r *Reader) Disarm() { atomic.StoreUint32(r.sleep, 0) }
