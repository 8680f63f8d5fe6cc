package ring

import "sync/atomic"

// A Writer is the side that writes. One goroutine at a time uses it.
type Writer struct {
	memory
	at       uint64 // where the next record goes
	read     uint64 // how far the reader was when this side looked last
	reserved int    // bytes of the record that Reserve gave; -1: none
	broken   bool
}

// NewWriter makes the writing side of a ring in memory that is all zero, but for what
// its reader has done since.
func NewWriter(mem []byte) (*Writer, error) {
	m, err := newMemory(mem)
	if err != nil {
		return nil, err
	}
	return &Writer{memory: m, reserved: -1}, nil
}

// RecordMax is the length of the longest record.
func (w *Writer) RecordMax() int { return RecordMax(len(w.data)) }

// Reserve gives room for a record of n bytes, 1 ≤ n ≤ RecordMax, to be written and
// then committed; ok is false if there is none before the reader has read more. The
// room is not cleared. It is given up by the next Reserve. The error is ErrCorrupt.
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

// fits tells whether there are n bytes for records, and a line behind them whose word
// can be cleared.
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

// pass sends the reader to the beginning of the room.
func (w *Writer) pass() {
	next := w.at + uint64(w.left(w.at))
	*w.word(next) = 0
	publish(w.word(w.at), place(w.at)|skip)
	w.at = next
}

// Commit publishes the record that Reserve gave room for. It is a full fence: an Asleep
// that follows sees whether the reader went to sleep without seeing the record.
func (w *Writer) Commit() {
	if w.reserved < 0 {
		panic("ring: Commit without Reserve")
	}
	next := w.at + uint64(lines(w.reserved))
	*w.word(next) = 0 // nobody reads it before the word of this record is published
	publish(w.word(w.at), place(w.at)|uint64(w.reserved))
	w.at, w.reserved = next, -1
}

// Asleep reports whether the reader wants to be woken, and takes the wish back: whoever
// hears of it wakes the reader.
func (w *Writer) Asleep() bool {
	return atomic.LoadUint32(w.sleep) != 0 && atomic.SwapUint32(w.sleep, 0) != 0
}

// Unread is how many bytes of records the reader has not said to have read.
func (w *Writer) Unread() uint64 {
	if read := load(w.memory.read); read >= w.read && read <= w.at {
		return w.at - read
	}
	return w.at - w.read
}
