package share

import (
	"sync/atomic"
	"unsafe"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// Locks are the locks of the ranks of a window. Layout of the memory, all words in native order:
//
//	offset              bytes
//	0                   64     nonce of the region, reserved
//	64 + 64·t           8      lock of rank t: high 32 bits: exclusive holder + 1 or 0; low: shared holders
//	72 + 64·t           4      turn: changes with every unlock
//	76 + 64·t           4      ranks that sleep until the turn changes
//	80 + 64·t           4      element lock of rank t: holder + 1, or 0
//	64 + 64·n + 4·(n·t+r) 4    1: rank r holds a lock of rank t, or is about to
type Locks struct {
	mem   []byte
	ranks int
	me    int
}

const (
	lockBytes = 64
	markBytes = 4
	offTurn   = 8
	offSleep  = 12
	offAtom   = 16
)

// LockBytes returns how many bytes the locks of some ranks take, at the beginning of a region.
func LockBytes(ranks int) int { return lockBytes + ranks*lockBytes + ranks*ranks*markBytes }

// NewLocks returns the locks in the memory of a region; me is this process's rank.
func NewLocks(mem []byte, ranks, me int) *Locks {
	return &Locks{mem: mem[:LockBytes(ranks)], ranks: ranks, me: me}
}

func (l *Locks) word(rank int) *uint64 {
	return (*uint64)(unsafe.Pointer(&l.mem[lockBytes+rank*lockBytes]))
}

func (l *Locks) word32(rank, off int) *uint32 {
	return (*uint32)(unsafe.Pointer(&l.mem[lockBytes+rank*lockBytes+off]))
}

func (l *Locks) mark(rank, holder int) *uint32 {
	return (*uint32)(unsafe.Pointer(&l.mem[lockBytes+l.ranks*lockBytes+(rank*l.ranks+holder)*markBytes]))
}

// Try takes the lock of a rank if it is free.
func (l *Locks) Try(rank int, exclusive bool) bool {
	w, mark := l.word(rank), l.mark(rank, l.me)
	was := atomic.LoadUint64(w)
	if was>>32 != 0 || exclusive && was != 0 || uint32(was) == 1<<32-1 {
		return false
	}
	next := was + 1
	if exclusive {
		next = uint64(l.me+1) << 32
	}
	atomic.StoreUint32(mark, 1) // first, or a death between the two would not be traced to this rank
	if atomic.CompareAndSwapUint64(w, was, next) {
		return true
	}
	atomic.StoreUint32(mark, 0)
	return false
}

// Unlock gives the lock of a rank back. It fails if another process has changed the lock's word,
// which none may.
func (l *Locks) Unlock(rank int, exclusive bool) error {
	w := l.word(rank)
	intact := true
	if exclusive {
		intact = atomic.CompareAndSwapUint64(w, uint64(l.me+1)<<32, 0)
	} else {
		for {
			was := atomic.LoadUint64(w)
			if intact = was>>32 == 0 && uint32(was) > 0; !intact || atomic.CompareAndSwapUint64(w, was, was-1) {
				break
			}
		}
	}
	atomic.StoreUint32(l.mark(rank, l.me), 0)
	atomic.AddUint32(l.word32(rank, offTurn), 1)
	if atomic.LoadUint32(l.word32(rank, offSleep)) != 0 {
		wake(l.word32(rank, offTurn))
	}
	if !intact {
		return errclass.New(errclass.RMASync, "another process has overwritten the lock of rank %d", rank)
	}
	return nil
}

// Sleep waits a short time for the lock of a rank to be unlocked. Then the caller calls Try again. It may
// return early.
func (l *Locks) Sleep(rank int) {
	turn := l.word32(rank, offTurn)
	sleepers := l.word32(rank, offSleep)
	atomic.AddUint32(sleepers, 1)
	seen := atomic.LoadUint32(turn)
	if atomic.LoadUint64(l.word(rank)) != 0 {
		sleep(turn, seen)
	}
	atomic.AddUint32(sleepers, ^uint32(0))
}

// Owner returns the rank that holds the lock of a rank exclusively, or -1. It may be no rank of the
// window.
func (l *Locks) Owner(rank int) int { return int(atomic.LoadUint64(l.word(rank))>>32) - 1 }

// Holder tells whether a rank seems to hold the lock of another one, or was about to when it died.
func (l *Locks) Holder(rank, holder int) bool {
	return atomic.LoadUint32(l.mark(rank, holder)) != 0
}

// TryAtom takes the element lock of a rank, if it is free.
func (l *Locks) TryAtom(rank int) bool {
	return atomic.CompareAndSwapUint32(l.word32(rank, offAtom), 0, uint32(l.me+1))
}

// UnlockAtom gives the element lock of a rank back.
func (l *Locks) UnlockAtom(rank int) {
	atomic.CompareAndSwapUint32(l.word32(rank, offAtom), uint32(l.me+1), 0)
}

// AtomHolder returns the rank that holds the element lock of a rank, or -1. It may be no rank of
// the window.
func (l *Locks) AtomHolder(rank int) int {
	return int(atomic.LoadUint32(l.word32(rank, offAtom))) - 1
}
