package usercert_test

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/pvfs/credential"
	"github.com/viaduct-hpc/viaduct/pvfs/usercert"
	"github.com/viaduct-hpc/viaduct/pvfs/usercert/certtest"
)

func TestSealed(t *testing.T) {
	ca := certtest.New(t, "CA")
	a := ca.Authority(t)
	to, err := usercert.ParsePublicKey(a.PublicKey())
	require.NoError(t, err)
	require.True(t, a.IsKeyOf(to))
	for _, password := range []string{"", "x", "pass phrase, longer than some"} {
		sealed, err := usercert.SealPassword(to, password)
		require.NoError(t, err)
		got, err := a.OpenPassword(sealed)
		require.NoError(t, err)
		require.Equal(t, password, got)
	}
	for _, password := range []string{"a\x00b", string(bytes.Repeat([]byte("x"), 116))} {
		_, err := usercert.SealPassword(to, password)
		require.Error(t, err)
	}
	for _, bits := range []int{1024, 2048} {
		key, err := credential.GenerateKey(bits)
		require.NoError(t, err)
		sealed, err := usercert.SealKey(to, &key.RSA().PublicKey)
		require.NoError(t, err)
		got, err := a.OpenKey(sealed)
		require.NoError(t, err)
		require.True(t, key.RSA().PublicKey.Equal(got))
		require.Less(t, len(sealed), 5*to.Size(), "the private half is not in it")
	}
}

// TestSealedWrongly: wrong padding is a password like any other that is wrong, so that no answer tells what the authority's key makes of a message.
func TestSealedWrongly(t *testing.T) {
	ca := certtest.New(t, "CA")
	a := ca.Authority(t)
	to := &ca.Key.RSA().PublicKey
	short, err := rsa.EncryptPKCS1v15(rand.Reader, to, []byte("short"))
	require.NoError(t, err)
	one := bytes.Repeat([]byte{0}, to.Size()-1)
	for _, sealed := range [][]byte{nil, {1, 2, 3}, append(one, 1), short, make([]byte, 1000)} {
		first, err := a.OpenPassword(sealed)
		require.NoError(t, err)
		second, err := a.OpenPassword(sealed)
		require.NoError(t, err)
		require.False(t, first == second && first != "", "a password that nobody knows")
		_, err = a.OpenKey(sealed)
		require.ErrorIs(t, err, usercert.ErrSealed)
	}
	_, err = a.OpenPassword(bytes.Repeat([]byte{0xff}, to.Size()))
	require.ErrorIs(t, err, usercert.ErrSealed, "a number larger than the key")
	_, err = a.OpenKey(make([]byte, 25*to.Size()))
	require.ErrorIs(t, err, usercert.ErrSealed, "no key takes so many blocks")
}
