package team

import (
	"bytes"
	"context"
	"strings"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// textMax is how many bytes of an error's text other ranks get to see.
const textMax = 240

// Agree tells whether a step of a collective operation has failed on any rank. All ranks call it
// with their own errors, or nil, and some numbers. It returns the numbers of all ranks, and an
// error on all ranks or on none: a rank's own, or else that of the lowest rank that has one.
func (t *Team) Agree(ctx context.Context, mine error, numbers ...int64) ([]int64, error) {
	word := append([]int64{int64(errclass.Of(mine))}, numbers...)
	all, err := t.Gather(ctx, word)
	if err != nil {
		return nil, err
	}
	got, failed := make([]int64, 0, len(all)), -1
	for rank := range t.Size() {
		of := all[rank*len(word):][:len(word)]
		if of[0] != int64(errclass.Success) && failed < 0 {
			failed = rank
		}
		got = append(got, of[1:]...)
	}
	if failed < 0 {
		return got, nil
	}
	var text [textMax]byte
	if failed == t.Rank() {
		copy(text[:], strings.TrimPrefix(mine.Error(), "mpi: "+errclass.Of(mine).String()+": "))
	}
	if err := t.Bcast(ctx, text[:], failed); err != nil {
		return nil, err
	}
	if mine != nil {
		return got, mine
	}
	said, _, _ := bytes.Cut(text[:], []byte{0})
	return got, errclass.New(errclass.Class(all[failed*len(word)]), "rank %d: %s", failed, said)
}
