package service

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/bmi/bmitest"
)

func TestAddresses(t *testing.T) {
	assert.Equal(t, "via+shm", MethodOf("via+shm://name"))
	assert.Equal(t, "via+shm://NAME", AddressForm("via+shm"))
	assert.Equal(t, "tcp://HOST:PORT", AddressForm("tcp"))
	assert.Equal(t, "tcp://127.0.0.1:0", LocalAddress("tcp", "perf"))
	assert.Regexp(t, `^via\+shm://perf-\d+-[0-9a-f]+$`, LocalAddress("via+shm", "perf"))
	assert.True(t, OverSockets("tcp"))
	assert.False(t, OverSockets("via+shm"))
	assert.True(t, OverSockets("via+udp"))
	assert.True(t, OverDatagrams("via+udp"))
	assert.False(t, OverDatagrams("tcp"))
}

func TestClassIsZeroWhereTheMethodHasNone(t *testing.T) {
	for _, none := range []bool{false, true} {
		ep, err := bmi.Open(context.Background(), bmi.Config{
			Methods: []string{bmitest.Name},
			Options: map[string]any{bmitest.Name: bmitest.Options{NoClasses: none}},
		})
		require.NoError(t, err)
		want := bmi.Class(7)
		if none {
			want = 0
		}
		assert.Equal(t, want, Class(ep, "mem://x", 7))
		require.NoError(t, ep.Close())
	}
}
