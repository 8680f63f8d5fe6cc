package proto

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"time"
)

// A reader parses the fields of one message. After the first missing or invalid field, all others are zero, and err describes
// that field.
type reader struct {
	b   []byte
	off int
	op  Op
	err error
}

// A fault is an error in a message, and its place.
type fault struct {
	is     error // ErrVersion and so on
	op     Op    // 0: before the operation is known
	field  string
	offset int // of the field, from the first byte of the message
	why    string
}

func (f *fault) Error() string {
	where := f.field
	if f.op != 0 {
		where = f.op.String() + " " + where
	}
	return fmt.Sprintf("pvfs/proto: %v: %s at byte %d: %s", f.is, where, f.offset, f.why)
}

func (f *fault) Unwrap() error { return f.is }

// fail ends the parsing.
func (r *reader) fail(is error, field, why string, args ...any) {
	if r.err != nil {
		return
	}
	if len(args) > 0 {
		why = fmt.Sprintf(why, args...)
	}
	r.err = &fault{is: is, op: r.op, field: field, offset: r.off, why: why}
}

// left is the number of remaining bytes.
func (r *reader) left() int {
	if r.err != nil {
		return 0
	}
	return len(r.b) - r.off
}

// take returns the next n bytes, or nil if there are fewer.
func (r *reader) take(field string, n int) []byte {
	if r.err != nil {
		return nil
	}
	if n > len(r.b)-r.off {
		r.fail(ErrMalformed, field, "the message ends before it does")
		return nil
	}
	b := r.b[r.off : r.off+n : r.off+n]
	r.off += n
	return b
}

func (r *reader) u32(field string) uint32 {
	if b := r.take(field, 4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (r *reader) u64(field string) uint64 {
	if b := r.take(field, 8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (r *reader) i32(field string) int32       { return int32(r.u32(field)) }
func (r *reader) i64(field string) int64       { return int64(r.u64(field)) }
func (r *reader) handle(field string) Handle   { return Handle(r.u64(field)) }
func (r *reader) fs() FSID                     { return FSID(r.i32("fs id")) }
func (r *reader) mask() AttrMask               { return AttrMask(r.u32("attribute mask")) }
func (r *reader) objType(field string) ObjType { return ObjType(r.i32(field)) }
func (r *reader) status(field string) Status   { return Status(r.i32(field)) }
func (r *reader) skip4()                       { r.take("padding", 4) }
func (r *reader) align8()                      { r.take("padding", -r.off&7) }
func (r *reader) seconds(field string) time.Time {
	s := r.i64(field)
	if s == 0 {
		return time.Time{}
	}
	return time.Unix(s, 0).UTC()
}

// count parses the length of a list. It is at most limit, and each element takes at least size bytes.
func (r *reader) count(field string, limit, size int) int {
	at := r.off
	v := r.u32(field)
	if r.err != nil {
		return 0
	}
	n := int(min(v, uint32(limit)+1))
	if n <= limit && n*size <= r.left() {
		return n
	}
	r.off = at
	if n > limit {
		r.fail(ErrMalformed, field, "%d, the limit is %d", v, limit)
	} else {
		r.fail(ErrMalformed, field, "%d, but only %d bytes follow", n, r.left()-4)
	}
	return 0
}

// str parses a string of at most limit bytes.
func (r *reader) str(field string, limit int) string { return string(r.strBytes(field, limit)) }

// strBytes is str without a copy.
func (r *reader) strBytes(field string, limit int) []byte {
	at := r.off
	n := r.count(field, limit, 1)
	b := r.take(field, stringSize(n)-4)
	if n == 0 || b == nil {
		return nil
	}
	switch i := bytes.IndexByte(b[:n+1], 0); {
	case i < 0:
		r.off = at
		r.fail(ErrMalformed, field, "a string of %d bytes does not end in zero", n)
		return nil
	case i < n:
		r.off = at
		r.fail(ErrMalformed, field, "zero within a string of %d bytes", n)
		return nil
	}
	return b[:n]
}

// buffer parses a buffer of at most limit bytes, as a view of the message.
func (r *reader) buffer(field string, limit int) []byte {
	n := r.count(field, limit, 1)
	b := r.take(field, bufferSize(n)-4)
	if b == nil {
		return nil
	}
	return b[:n:n]
}

// Limits of extended attributes in a message, bytes. A file system accepts less, and has its own errors for longer ones.
const (
	maxKey   = 4096
	maxValue = MaxUnexpected
)

// key parses the name of an extended attribute.
func (r *reader) key(field string) string {
	at := r.off
	b := r.buffer(field, maxKey)
	if len(b) == 0 {
		return ""
	}
	if i := bytes.IndexByte(b, 0); i != len(b)-1 || i == 0 {
		r.off = at
		r.fail(ErrMalformed, field, "a name must have one zero, as the last of its %d bytes", len(b))
		return ""
	}
	return string(b[:len(b)-1])
}

// rest returns the remaining bytes, as a view of the message.
func (r *reader) rest() []byte { return r.take("data", r.left()) }

// Each of the following parses a list of n elements. An empty list is nil.

func (r *reader) handles(field string, n int) []Handle {
	b := r.take(field, 8*n)
	if len(b) == 0 {
		return nil
	}
	list := make([]Handle, n)
	for i := range list {
		list[i] = Handle(binary.LittleEndian.Uint64(b[8*i:]))
	}
	return list
}

func (r *reader) i64s(field string, n int) []int64 {
	b := r.take(field, 8*n)
	if len(b) == 0 {
		return nil
	}
	list := make([]int64, n)
	for i := range list {
		list[i] = int64(binary.LittleEndian.Uint64(b[8*i:]))
	}
	return list
}

func (r *reader) statuses(field string, n int) []Status {
	b := r.take(field, 4*n)
	if len(b) == 0 {
		return nil
	}
	list := make([]Status, n)
	for i := range list {
		list[i] = Status(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return list
}

func (r *reader) keys(n int) []string {
	if n == 0 {
		return nil
	}
	list := make([]string, n)
	for i := range list {
		list[i] = r.key("attribute name")
	}
	return list
}

func (r *reader) buffers(field string, n int) [][]byte {
	if n == 0 {
		return nil
	}
	list := make([][]byte, n)
	for i := range list {
		list[i] = bytes.Clone(r.buffer(field, maxValue))
	}
	return list
}

func (r *reader) attrs(n int) []Attr {
	if n == 0 {
		return nil
	}
	list := make([]Attr, n)
	for i := range list {
		r.attr(&list[i])
	}
	return list
}
