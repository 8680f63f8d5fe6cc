package coll

import (
	"math"
	"math/bits"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// checkRank returns an error unless r is one of n ranks.
func checkRank(class errclass.Class, what string, r, n int) error {
	if r < 0 || r >= n {
		return errclass.New(class, "%s %d is not in 0 to %d", what, r, n-1)
	}
	return nil
}

func checkRoot(root, n int) error { return checkRank(errclass.Root, "root", root, n) }

// checkLen returns an error unless a buffer has exactly the length needed.
func checkLen(what string, have, want int) error {
	if have != want {
		return errclass.New(errclass.Count, "%s has %d bytes where the operation needs %d", what, have, want)
	}
	return nil
}

// checkPieces returns an error unless there is one piece for each of n ranks.
func checkPieces(what string, have, n int) error {
	if have != n {
		return errclass.New(errclass.Count, "%s has %d pieces for %d ranks", what, have, n)
	}
	return nil
}

// checkWhole returns an error unless a buffer is n pieces of the same size.
func checkWhole(what string, bytes, n int) error {
	if bytes%n != 0 {
		return errclass.New(errclass.Count, "%s has %d bytes, which is no multiple of %d ranks", what, bytes, n)
	}
	return nil
}

// product returns count times size, or an error if that is not a valid length.
func product(count, size int) (int, error) {
	if count < 0 || size < 0 {
		return 0, errclass.New(errclass.Count, "a count of %d elements is negative", count)
	}
	hi, lo := bits.Mul64(uint64(count), uint64(size))
	if hi > 0 || lo > math.MaxInt {
		return 0, errclass.New(errclass.Count, "%d elements of %d bytes are more than any memory", count, size)
	}
	return int(lo), nil
}

// total returns the length of all pieces.
func total(pieces [][]byte) int {
	n := 0
	for _, p := range pieces {
		n += len(p)
	}
	return n
}
