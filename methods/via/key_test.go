package via_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/methods/via"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// driverNamed is a registered driver.
func driverNamed(t *testing.T, name string) bmi.Driver {
	all := bmi.Drivers()
	i := slices.IndexFunc(all, func(d bmi.Driver) bool { return d.Name() == name })
	require.GreaterOrEqual(t, i, 0, name)
	return all[i]
}

// openWith opens an endpoint of a method with options.
func openWith(t *testing.T, method, listen string, opts any) (*bmi.Endpoint, error) {
	ep, err := bmi.Open(t.Context(), bmi.Config{Listen: []string{method + "://" + listen}, Options: map[string]any{method: opts}})
	if err == nil {
		t.Cleanup(func() { assert.NoError(t, ep.Close()) })
	}
	return ep, err
}

// TestKeyOption: a key in the options comes before the environment, and is the same as its
// digits there.
func TestKeyOption(t *testing.T) {
	key, other := nic.Key(bytes.Repeat([]byte{0xab}, nic.KeyBytes)), nic.Key(bytes.Repeat([]byte{0xcd}, nic.KeyBytes))
	byEnvironment, _ := openKeyed(t, keyEnv+"="+hex.EncodeToString(key))
	t.Setenv(keyEnv, hex.EncodeToString(other))
	t.Setenv(insecureEnv, "1") // each of these, and both together, would be an error
	byOption, err := openWith(t, "via+udp", "127.0.0.1:0", via.Options{Key: key})
	require.NoError(t, err)
	call(t, byOption, byEnvironment, byEnvironment.Addresses()[0])
	stranger, err := openWith(t, "via+udp", "127.0.0.1:0", &via.Options{Key: other})
	require.NoError(t, err)
	require.ErrorIs(t, refusedBy(t, stranger, byOption.Addresses()[0]), bmi.ErrRefused)
}

// badKeys protect nothing.
var badKeys = map[string]nic.Key{
	"empty":     {},
	"too short": bytes.Repeat([]byte("K"), nic.KeyBytes-1),
	"too long":  bytes.Repeat([]byte("K"), nic.KeyBytes+1),
	"digits":    bytes.Repeat([]byte("K"), 2*nic.KeyBytes),
	"zero":      make([]byte, nic.KeyBytes),
}

// TestBadKeyOption: an invalid key is an error whose text does not contain the key.
func TestBadKeyOption(t *testing.T) {
	t.Setenv(insecureEnv, "1") // it does not make an invalid key acceptable
	refused := func(err error) {
		t.Helper()
		require.ErrorIs(t, err, bmi.ErrInvalid)
		assert.NotContains(t, err.Error(), "KKKK")
		assert.NotContains(t, err.Error(), "4b4b")
	}
	keyer := driverNamed(t, "via+udp").(bmi.Keyer)
	for name, key := range badKeys {
		t.Run(name, func(t *testing.T) {
			_, err := openWith(t, "via+udp", "127.0.0.1:0", via.Options{Key: key})
			refused(err)
			_, err = keyer.WithKey(nil, key)
			refused(err)
		})
	}
	_, err := openWith(t, "via+shm", "key-option", via.Options{Key: bytes.Repeat([]byte("K"), nic.KeyBytes)})
	refused(err)
	_, shm := driverNamed(t, "via+shm").(bmi.Keyer)
	assert.False(t, shm)
	_, err = keyer.WithKey("options", bytes.Repeat([]byte("K"), nic.KeyBytes))
	refused(err)
}

// TestKeyer: a key is added to options, unless they have one.
func TestKeyer(t *testing.T) {
	keyer := driverNamed(t, "via+udp").(bmi.Keyer)
	key, mine := bytes.Repeat([]byte{1}, nic.KeyBytes), nic.Key(bytes.Repeat([]byte{2}, nic.KeyBytes))
	given := &via.Options{Credits: 40}
	opts, err := keyer.WithKey(given, key)
	require.NoError(t, err)
	assert.Equal(t, 40, opts.(via.Options).Credits)
	assert.Equal(t, nic.Key(key), opts.(via.Options).Key)
	assert.Nil(t, given.Key, "the options are the caller's")
	clear(key)
	assert.NotEqual(t, nic.Key(key), opts.(via.Options).Key, "so is the key")
	opts, err = keyer.WithKey(via.Options{Key: mine}, bytes.Repeat([]byte{1}, nic.KeyBytes))
	require.NoError(t, err)
	assert.Equal(t, mine, opts.(via.Options).Key)
	m, err := keyer.Open(context.Background(), bmi.MethodConfig{Options: 7})
	require.ErrorIs(t, err, bmi.ErrInvalid)
	require.Nil(t, m)
}
