package proto

import (
	"encoding/binary"
	"time"
)

// A writer appends the fields of one message. It writes padding as zeros.
type writer struct {
	b    []byte
	base int // index in b of the message's first byte
}

func (w *writer) u32(v uint32)      { w.b = binary.LittleEndian.AppendUint32(w.b, v) }
func (w *writer) i32(v int32)       { w.u32(uint32(v)) }
func (w *writer) u64(v uint64)      { w.b = binary.LittleEndian.AppendUint64(w.b, v) }
func (w *writer) i64(v int64)       { w.u64(uint64(v)) }
func (w *writer) count(n int)       { w.u32(uint32(n)) }
func (w *writer) skip4()            { w.u32(0) }
func (w *writer) handle(h Handle)   { w.u64(uint64(h)) }
func (w *writer) fs(id FSID)        { w.i32(int32(id)) }
func (w *writer) mask(m AttrMask)   { w.u32(uint32(m)) }
func (w *writer) objType(t ObjType) { w.i32(int32(t)) }
func (w *writer) status(s Status)   { w.i32(int32(s)) }
func (w *writer) bytes(b []byte)    { w.b = append(w.b, b...) }
func (w *writer) zeros(n int)       { w.b = append(w.b, make([]byte, n)...) }
func (w *writer) align8()           { w.zeros(-(len(w.b) - w.base) & 7) }
func (w *writer) seconds(t time.Time) {
	if t.IsZero() {
		w.i64(0)
		return
	}
	w.i64(t.Unix())
}

// str writes a string: its length, its bytes, a zero, and zeros up to a multiple of 8.
func (w *writer) str(s string) {
	w.count(len(s))
	w.b = append(w.b, s...)
	w.zeros(stringSize(len(s)) - 4 - len(s))
}

// stringSize is the size of a string of n bytes.
func stringSize(n int) int { return (4 + n + 1 + 7) &^ 7 }

// bufferSize is the size of a buffer of n bytes.
func bufferSize(n int) int { return (4 + n + 7) &^ 7 }

// buffer writes a buffer: its length, its bytes, and zeros up to a multiple of 8.
func (w *writer) buffer(b []byte) {
	w.count(len(b))
	w.b = append(w.b, b...)
	w.zeros(bufferSize(len(b)) - 4 - len(b))
}

// key writes the name of an extended attribute: a buffer with the name's final zero in it.
func (w *writer) key(s string) {
	if s == "" {
		w.buffer(nil)
		return
	}
	w.count(len(s) + 1)
	w.b = append(w.b, s...)
	w.zeros(bufferSize(len(s)+1) - 4 - len(s))
}

// Each of the following writes the elements of a list. The length is written before.

func (w *writer) handles(list []Handle) {
	for _, h := range list {
		w.handle(h)
	}
}

func (w *writer) i64s(list []int64) {
	for _, v := range list {
		w.i64(v)
	}
}

func (w *writer) statuses(list []Status) {
	for _, s := range list {
		w.status(s)
	}
}

func (w *writer) keys(list []string) {
	for _, s := range list {
		w.key(s)
	}
}

func (w *writer) buffers(list [][]byte) {
	for _, b := range list {
		w.buffer(b)
	}
}

func (w *writer) attrs(list []Attr) {
	for i := range list {
		w.attr(&list[i])
	}
}

// Lists that must have n elements, as many as another list. Further elements are left out, and missing ones are written as zeros.

func (w *writer) statusesOf(list []Status, n int) {
	list = list[:min(n, len(list))]
	w.statuses(list)
	w.zeros(4 * (n - len(list)))
}

func (w *writer) i64sOf(list []int64, n int) {
	list = list[:min(n, len(list))]
	w.i64s(list)
	w.zeros(8 * (n - len(list)))
}

func (w *writer) attrsOf(list []Attr, n int) {
	list = list[:min(n, len(list))]
	w.attrs(list)
	w.zeros(minAttr * (n - len(list)))
}

func (w *writer) buffersOf(list [][]byte, n int) {
	list = list[:min(n, len(list))]
	w.buffers(list)
	w.zeros(bufferSize(0) * (n - len(list)))
}

func (w *writer) strsOf(list []string, n int) {
	list = list[:min(n, len(list))]
	for _, s := range list {
		w.str(s)
	}
	w.zeros(stringSize(0) * (n - len(list)))
}

// flag is a bool as a number.
func flag(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}
