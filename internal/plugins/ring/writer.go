package ring

import "sync/atomic"

// A Writer is the writing side of a ring. One goroutine at a time uses it.
type Writer struct {
	memory
	at       uint64 // of the next record
	read     uint64 // the reader's position when it was last checked
	reserved int    // bytes that Reserve reserved; -1 means none
	broken   bool
}

// NewWriter makes the writing side of a ring. The memory is all zero, except for what the reader
// has written since.
func NewWriter(mem []byte) (*Writer, error) {
	m, err := newMemory(mem)
	if err != nil {
		return nil, err
	}
	return &Writer{memory: m, reserved: -1}, nil
}

// RecordMax returns the length of the longest record.
func (w *Writer) RecordMax() int { return RecordMax(len(w.data)) }

// Reserve returns room for a record of n bytes, 1 ≤ n ≤ RecordMax, to be filled and committed; ok
// is false if there is no room until the reader has read more. The room is not cleared. The next
// Reserve takes it back. The error is ErrCorrupt.
func (w *Writer) Reserve(n int) (room []byte, ok bool, err error) {
	if n < 1 || n > w.RecordMax() {
		panic("ring: a record of a length that cannot be")
	}
	w.reserved = -1
	need, gap := lines(n), 0
	if left := w.left(w.at); need > left {
		gap = left
	}
	if ok, err := w.fits(gap + need); !ok {
		return nil, false, err
	}
	if gap > 0 {
		w.pass()
	}
	w.reserved = n
	return w.record(w.at, n), true, nil
}

// fits tells whether there is room for n bytes of records and for one more line, whose word is
// cleared.
func (w *Writer) fits(n int) (bool, error) {
	if w.broken {
		return false, ErrCorrupt
	}
	room := uint64(len(w.data))
	if w.at+uint64(n)+Line <= w.read+room {
		return true, nil
	}
	read := load(w.memory.read)
	if read < w.read || read > w.at || read%Line != 0 {
		w.broken = true
		return false, ErrCorrupt
	}
	w.read = read
	return w.at+uint64(n)+Line <= w.read+room, nil
}

// pass makes the reader go on at the beginning of the space.
func (w *Writer) pass() {
	next := w.at + uint64(w.left(w.at))
	*w.word(next) = 0
	publish(w.word(w.at), place(w.at)|skip)
	w.at = next
}

// Commit publishes the reserved record. It is a full fence: if the reader fell asleep without
// seeing the record, an Asleep that follows reports that.
func (w *Writer) Commit() {
	if w.reserved < 0 {
		panic("ring: Commit without Reserve")
	}
	next := w.at + uint64(lines(w.reserved))
	*w.word(next) = 0 // the reader does not read it before the word of this record is published
	publish(w.word(w.at), place(w.at)|uint64(w.reserved))
	w.at, w.reserved = next, -1
}

// Asleep reports whether the reader wants to be woken, and clears the request: the caller must wake
// the reader.
func (w *Writer) Asleep() bool {
	return atomic.LoadUint32(w.sleep) != 0 && atomic.SwapUint32(w.sleep, 0) != 0
}

// Unread returns how many bytes of records the reader has not reported as read.
func (w *Writer) Unread() uint64 {
	if read := load(w.memory.read); read >= w.read && read <= w.at {
		return w.at - read
	}
	return w.at - w.read
}
