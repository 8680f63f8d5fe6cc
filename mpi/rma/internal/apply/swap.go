package apply

import (
	"bytes"
	"encoding/binary"
	"sync/atomic"
	"unsafe"

	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// CheckSwap returns an error unless elements of a kind can be compared and swapped: integers, truth
// values and bytes, but no characters (MPI-4.1, 12.3.4).
func CheckSwap(k datatype.Kind) error {
	switch k.Like() {
	case datatype.KindByte, datatype.KindBool,
		datatype.KindInt8, datatype.KindInt16, datatype.KindInt32, datatype.KindInt64,
		datatype.KindUint8, datatype.KindUint16, datatype.KindUint32, datatype.KindUint64,
		datatype.KindInteger16, datatype.KindLogical16:
		return nil
	}
	return errclass.New(errclass.Type, "elements of the kind %v cannot be compared and swapped: take integers or bytes", k)
}

// Swap stores next in the element target if that equals expect, and the former one in old. All have
// the size of the kind.
func Swap(k datatype.Kind, target, expect, next, old []byte, lock Locker) error {
	size := k.Size()
	switch {
	case Atomic(k) && size == 8 && Aligned(&target[0], 8):
		was := swap8((*uint64)(unsafe.Pointer(&target[0])), binary.NativeEndian.Uint64(expect), binary.NativeEndian.Uint64(next))
		binary.NativeEndian.PutUint64(old, was)
		return nil
	case Atomic(k) && size == 4 && Aligned(&target[0], 4):
		was := swap4((*uint32)(unsafe.Pointer(&target[0])), binary.NativeEndian.Uint32(expect), binary.NativeEndian.Uint32(next))
		binary.NativeEndian.PutUint32(old, was)
		return nil
	}
	if err := lock.Lock(); err != nil {
		return err
	}
	defer lock.Unlock()
	copy(old, target[:size])
	if bytes.Equal(old[:size], expect) {
		copy(target, next[:size])
	}
	return nil
}

func swap8(p *uint64, expect, next uint64) (was uint64) {
	for {
		if was = atomic.LoadUint64(p); was != expect || atomic.CompareAndSwapUint64(p, expect, next) {
			return was
		}
	}
}

func swap4(p *uint32, expect, next uint32) (was uint32) {
	for {
		if was = atomic.LoadUint32(p); was != expect || atomic.CompareAndSwapUint32(p, expect, next) {
			return was
		}
	}
}
