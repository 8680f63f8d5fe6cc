package bmi_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
)

type somebody string

func (s somebody) String() string { return string(s) }

// TestHostWithoutEndpoint: operations and addresses of a Host of one's own.
func TestHostWithoutEndpoint(t *testing.T) {
	type end struct {
		op   *bmi.Op
		size int
		err  error
	}
	var ended []end
	op := bmi.NewHostOp(func(op *bmi.Op, size int, err error) { ended = append(ended, end{op, size, err}) })
	cause := errors.New("a cause")
	op.Complete(3, nil)
	op.Complete(0, cause)
	assert.Equal(t, []end{{op, 3, nil}, {op, 0, cause}}, ended)

	a := bmi.NewHostAddr(somebody("m://a"))
	assert.Equal(t, "m://a", a.String())
	assert.Equal(t, somebody("m://a"), bmi.HostPeer(a))
	assert.Nil(t, bmi.HostPeer(bmi.Addr{}))

	ep, err := bmi.Open(t.Context(), bmi.Config{})
	require.NoError(t, err)
	defer func() { require.NoError(t, ep.Close()) }()
	ctx, err := ep.OpenContext()
	require.NoError(t, err)
	_, err = ctx.PostSend(a, 1, []byte("x"), nil)
	require.ErrorIs(t, err, bmi.ErrInvalid, "it is of no endpoint")
	require.ErrorIs(t, ep.Free(a, nil), bmi.ErrInvalid)
}
