package apply

import (
	"encoding/binary"
	"sync/atomic"
	"unsafe"

	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/reduce"
)

// A Run is bytes of a window's part.
type Run struct{ Off, Len int }

// A Locker is the lock of a part for elements that no instruction changes. Lock fails if it cannot
// be had, because a process died that held it.
type Locker interface {
	Lock() error
	Unlock()
}

// Atomic tells whether aligned elements of a kind are changed without the lock.
func Atomic(k datatype.Kind) bool {
	switch k.Like() {
	case datatype.KindInt32, datatype.KindInt64, datatype.KindUint32, datatype.KindUint64, datatype.KindFloat32, datatype.KindFloat64:
		return true
	}
	return false
}

// Aligned tells whether an element of size bytes at this place is aligned.
func Aligned(place *byte, size int) bool { return uintptr(unsafe.Pointer(place))%uintptr(size) == 0 }

// Do combines the elements in runs of mem with packed ones: mem = mem OP in. If old is not nil, it
// gets the former elements, packed. in may be nil for NoOp. The runs lie in mem, and the operator is
// valid for the kind (Check); together the runs have as many bytes as in and old, whole elements.
func Do(o Op, k datatype.Kind, mem []byte, runs []Run, in, old []byte, lock Locker) error {
	if k = k.Like(); !Atomic(k) {
		return underLock(o, k, mem, runs, in, old, lock)
	}
	size := k.Size()
	for _, r := range runs {
		if r.Len > 0 && !Aligned(&mem[r.Off], size) {
			if err := lock.Lock(); err != nil {
				return err
			}
			defer lock.Unlock()
			break
		}
	}
	at := 0
	for _, r := range runs {
		target := mem[r.Off:][:r.Len]
		part, was := slice(in, at, r.Len), slice(old, at, r.Len)
		switch {
		case r.Len == 0:
		case !Aligned(&target[0], size):
			unaligned(o, k, target, part, was)
		case size == 8:
			all8(o, k, target, part, was)
		default:
			all4(o, k, target, part, was)
		}
		at += r.Len
	}
	return nil
}

// Number combines one aligned element, as Do does without a lock. The operator and the kind are such
// that Numbers is true.
func Number(o Op, k datatype.Kind, target, in, old []byte) {
	if len(target) == 8 {
		all8(o, k, target, in, old)
	} else {
		all4(o, k, target, in, old)
	}
}

// slice returns n bytes of b from at on, or nil if b is nil.
func slice(b []byte, at, n int) []byte {
	if b == nil {
		return nil
	}
	return b[at:][:n]
}

// all8 combines aligned elements of 8 bytes.
func all8(o Op, k datatype.Kind, target, in, old []byte) {
	for i := 0; i < len(target); i += 8 {
		x := uint64(0)
		if in != nil {
			x = binary.NativeEndian.Uint64(in[i:])
		}
		was := one8(o, k, (*uint64)(unsafe.Pointer(&target[i])), x)
		if old != nil {
			binary.NativeEndian.PutUint64(old[i:], was)
		}
	}
}

// one8 combines an element of 8 bytes, and returns the former one.
func one8(o Op, k datatype.Kind, p *uint64, in uint64) uint64 {
	switch {
	case o == Replace:
		return atomic.SwapUint64(p, in)
	case o == NoOp:
		return atomic.LoadUint64(p)
	case o == Sum && k != datatype.KindFloat64:
		return atomic.AddUint64(p, in) - in
	}
	for {
		was := atomic.LoadUint64(p)
		if atomic.CompareAndSwapUint64(p, was, step8(o, k, was, in)) {
			return was
		}
	}
}

// all4 combines aligned elements of 4 bytes.
func all4(o Op, k datatype.Kind, target, in, old []byte) {
	for i := 0; i < len(target); i += 4 {
		x := uint32(0)
		if in != nil {
			x = binary.NativeEndian.Uint32(in[i:])
		}
		was := one4(o, k, (*uint32)(unsafe.Pointer(&target[i])), x)
		if old != nil {
			binary.NativeEndian.PutUint32(old[i:], was)
		}
	}
}

// one4 combines an element of 4 bytes, and returns the former one.
func one4(o Op, k datatype.Kind, p *uint32, in uint32) uint32 {
	switch {
	case o == Replace:
		return atomic.SwapUint32(p, in)
	case o == NoOp:
		return atomic.LoadUint32(p)
	case o == Sum && k != datatype.KindFloat32:
		return atomic.AddUint32(p, in) - in
	}
	for {
		was := atomic.LoadUint32(p)
		if atomic.CompareAndSwapUint32(p, was, step4(o, k, was, in)) {
			return was
		}
	}
}

// unaligned combines elements under the lock, in place.
func unaligned(o Op, k datatype.Kind, target, in, old []byte) {
	if old != nil {
		copy(old, target)
	}
	if in != nil {
		reduce.Predefined[o].Apply(target, in, datatype.ByKind(k), len(target)/k.Size())
	}
}

// underLock combines elements that no instruction changes. Their bytes may lie in several runs, as
// those of a pair do.
func underLock(o Op, k datatype.Kind, mem []byte, runs []Run, in, old []byte, lock Locker) error {
	if err := lock.Lock(); err != nil {
		return err
	}
	defer lock.Unlock()
	if len(runs) == 1 {
		r := runs[0]
		unaligned(o, k, mem[r.Off:][:r.Len], in, old)
		return nil
	}
	n := 0
	for _, r := range runs {
		n += r.Len
	}
	packed := make([]byte, n)
	at := 0
	for _, r := range runs {
		at += copy(packed[at:], mem[r.Off:][:r.Len])
	}
	unaligned(o, k, packed, in, old)
	at = 0
	for _, r := range runs {
		at += copy(mem[r.Off:][:r.Len], packed[at:])
	}
	return nil
}
