package errclass_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

func TestClasses(t *testing.T) {
	err := fmt.Errorf("in a loop: %w", errclass.Wrap(errclass.Truncate, io.EOF, "%d bytes for a buffer of %d", 8, 4))
	assert.EqualError(t, err, "in a loop: mpi: MPI_ERR_TRUNCATE: 8 bytes for a buffer of 4: EOF")
	assert.ErrorIs(t, err, errclass.Truncate)
	assert.ErrorIs(t, err, io.EOF)
	assert.NotErrorIs(t, err, errclass.Rank)
	assert.Equal(t, errclass.Truncate, errclass.Of(err))
	assert.Equal(t, errclass.Success, errclass.Of(nil))
	assert.Equal(t, errclass.Other, errclass.Of(errors.New("else")))
	assert.Equal(t, errclass.Rank, errclass.Of(errclass.Rank))
	assert.EqualError(t, errclass.New(errclass.Tag, "no"), "mpi: MPI_ERR_TAG: no")
}

// TestNothingIsSaidTwice: the text of nested errors of this package names the package once, and the
// class where it changes.
func TestNothingIsSaidTwice(t *testing.T) {
	below := errclass.Wrap(errclass.Rank, io.EOF, "below")
	assert.EqualError(t, errclass.Wrap(errclass.Rank, below, "above"), "mpi: MPI_ERR_RANK: above: below: EOF")
	assert.EqualError(t, errclass.Wrap(errclass.Other, below, "above"), "mpi: MPI_ERR_OTHER: above: MPI_ERR_RANK: below: EOF")
}
