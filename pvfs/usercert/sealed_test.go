package usercert_test

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/certtest"
	"github.com/viaduct-hpc/viaduct/pvfs/credential"
	"github.com/viaduct-hpc/viaduct/pvfs/usercert"
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

// encrypt makes a block of any length.
func encrypt(t *testing.T, to *rsa.PublicKey, text []byte) []byte {
	t.Helper()
	//lint:ignore SA1019 as OrangeFS does
	b, err := rsa.EncryptPKCS1v15(rand.Reader, to, text)
	require.NoError(t, err)
	return b
}

// TestSealedWrongly: wrong padding is the same as a wrong password, so no answer shows what the authority's key makes of a
// message.
func TestSealedWrongly(t *testing.T) {
	ca := certtest.New(t, "CA")
	a := ca.Authority(t)
	to := &ca.Key.RSA().PublicKey
	one := bytes.Repeat([]byte{0}, to.Size()-1)
	seen := map[string]bool{}
	for _, sealed := range [][]byte{{1, 2, 3}, append(one, 1), append(one, 2), encrypt(t, to, []byte("short")), make([]byte, 1000)} {
		password, err := a.OpenPassword(sealed)
		require.NoError(t, err)
		require.NotEqual(t, "short", password)
		again, err := a.OpenPassword(sealed)
		require.NoError(t, err)
		require.Equal(t, password, again, "a message that is sent twice tells no more")
		seen[password] = true
		_, err = a.OpenKey(sealed)
		require.ErrorIs(t, err, usercert.ErrSealed)
	}
	require.Greater(t, len(seen), 2, "nobody knows which")
	_, err := a.OpenPassword(bytes.Repeat([]byte{0xff}, to.Size()))
	require.ErrorIs(t, err, usercert.ErrSealed, "a number larger than the key")
	_, err = a.OpenKey(make([]byte, 25*to.Size()))
	require.ErrorIs(t, err, usercert.ErrSealed, "no key takes so many blocks")
	_, err = a.OpenKey(nil)
	require.ErrorIs(t, err, usercert.ErrSealed)
}

// TestNoOracle: a user with a password puts a block with unknown padding into the middle of its key. A certificate is issued
// whether or not the padding is right.
func TestNoOracle(t *testing.T) {
	ca := certtest.New(t, "CA")
	a := ca.Authority(t)
	to := &ca.Key.RSA().PublicKey
	key, err := credential.GenerateKey(2048)
	require.NoError(t, err)
	sealed, err := usercert.SealKey(to, &key.RSA().PublicKey)
	require.NoError(t, err)
	size := to.Size()
	for _, middle := range [][]byte{
		encrypt(t, to, bytes.Repeat([]byte("x"), size-12)), encrypt(t, to, []byte("short")), encrypt(t, to, nil), make([]byte, size),
		append(make([]byte, size-1), 3),
	} {
		sent := slices.Concat(sealed[:size], middle, sealed[2*size:])
		got, err := a.OpenKey(sent)
		require.NoError(t, err)
		require.Equal(t, 2048, got.N.BitLen())
		again, err := a.OpenKey(sent)
		require.NoError(t, err)
		require.True(t, got.Equal(again))
	}
}
