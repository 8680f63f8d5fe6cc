package credential

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func identities(t *testing.T, text string) *Identities {
	ids, err := ParseIdentities([]byte(text))
	require.NoError(t, err)
	return ids
}

func TestFingerprints(t *testing.T) {
	var none *Identities
	require.Empty(t, none.Fingerprint())
	one := identities(t, "a users\nb 1:2,3\n")
	require.Equal(t, one.Fingerprint(), identities(t, "b 1:2,3 # again\na users\n").Fingerprint())
	for _, other := range []string{"", "a users\n", "a any\nb 1:2,3\n", "a users\nb 1:2\n", "a users\nc 1:2,3\n"} {
		require.NotEqual(t, one.Fingerprint(), identities(t, other).Fingerprint(), other)
	}
	var nothing *Keystore
	require.Empty(t, nothing.Fingerprint())
	require.NotEmpty(t, (&Keystore{}).Fingerprint())
}

// TestChangedFor: for whom another file makes a difference.
func TestChangedFor(t *testing.T) {
	const was = "login users\nalice 1000:1000,27\nbob 1001:1001\n"
	for is, want := range map[string][]uint32{
		was: nil,
		"bob 1001:1001\nlogin users\nalice 1000:1000,27\n":                  nil,
		"login users\nbob 1001:1001\n":                                      {1000},
		"login users\nalice 1000:1000\nbob 1001:1001\n":                     {1000},
		"login users\nalice 1000:1000,27\nbob 1001:1001\ncarol 1002:1002\n": {1002},
		"login users\nalice 1001:1000,27\nbob 1001:1001\n":                  {1000, 1001},
	} {
		users, everybody := ChangedFor(identities(t, was), identities(t, is))
		require.False(t, everybody, is)
		require.Equal(t, want, users, is)
	}
	for _, is := range []string{"", "alice 1000:1000,27\nbob 1001:1001\n", "login any\nalice 1000:1000,27\nbob 1001:1001\n", was + "x any\n"} {
		_, everybody := ChangedFor(identities(t, was), identities(t, is))
		require.True(t, everybody, is)
	}
	_, everybody := ChangedFor(nil, identities(t, was))
	require.True(t, everybody)
	_, everybody = ChangedFor(nil, nil)
	require.False(t, everybody)
}
