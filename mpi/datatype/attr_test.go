package datatype

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi/attr"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

func TestAttributes(t *testing.T) {
	plain, err := Contiguous(3, Int32)
	require.NoError(t, err)
	kept := attr.NewKeyval(attr.KeepValue[*Type], nil)
	lost := attr.NewKeyval[*Type](nil, nil)
	require.NoError(t, plain.SetAttr(kept, "a"))
	require.NoError(t, plain.SetAttr(lost, "b"))
	dup, err := Dup(plain)
	require.NoError(t, err)
	for key, want := range map[*Keyval]any{kept: "a", lost: nil} {
		got, ok, err := dup.Attr(key)
		require.NoError(t, err)
		assert.Equal(t, want != nil, ok)
		assert.Equal(t, want, got)
	}
	require.NoError(t, plain.DeleteAttr(kept))
	_, ok, err := plain.Attr(kept)
	require.NoError(t, err)
	assert.False(t, ok)
	require.ErrorIs(t, plain.DeleteAttr(kept), errclass.Keyval)
	_, ok, err = plain.Named("triple").Attr(lost)
	require.NoError(t, err)
	assert.False(t, ok)

	refuses := attr.NewKeyval(func(*Type, *Keyval, any) (any, bool, error) { return nil, false, errors.New("no copies") }, nil)
	require.NoError(t, plain.SetAttr(refuses, 1))
	_, err = Dup(plain)
	require.ErrorContains(t, err, "no copies")

	var none *Type
	require.ErrorIs(t, none.SetAttr(kept, 1), errclass.Type)
	require.ErrorIs(t, none.DeleteAttr(kept), errclass.Type)
	_, _, err = none.Attr(kept)
	require.ErrorIs(t, err, errclass.Type)
}
