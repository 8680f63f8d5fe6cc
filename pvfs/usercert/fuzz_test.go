package usercert_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
	"github.com/viaduct-hpc/viaduct/pvfs/usercert"
)

// FuzzVerify: no certificate without the authority's signature is accepted.
func FuzzVerify(f *testing.F) {
	a := stockAuthority(f)
	var resp proto.GetUserCertResp
	require.NoError(f, resp.Parse(vector(f, "mgmtgetusercert.golden", "response")))
	good := resp.Certificate
	f.Add(good)
	f.Add(good[:100])
	f.Fuzz(func(t *testing.T, der []byte) {
		u, err := a.Verify(der, stockTime)
		if err == nil && !u.Authority {
			require.Equal(t, "alice", u.Subject.CommonName)
		}
	})
}

// FuzzOpenKey: a private key that does not parse is an error, and one that does has an accepted length.
func FuzzOpenKey(f *testing.F) {
	f.Add([]byte{0x30, 0x03, 0x02, 0x01, 0x00})
	text, err := os.ReadFile("testdata/ca-key.pem")
	require.NoError(f, err)
	key, err := usercert.PrivateForm(text)
	require.NoError(f, err)
	f.Add(key)
	f.Fuzz(func(t *testing.T, der []byte) {
		if public, ok := usercert.PublicOf(der); ok {
			require.GreaterOrEqual(t, public.N.BitLen(), 1024)
			require.GreaterOrEqual(t, public.E, 3)
		}
	})
}

// FuzzParseDN: a parsed name can be issued in a subject.
func FuzzParseDN(f *testing.F) {
	f.Add("C=US, O=OrangeFS")
	f.Add("dc=a,DC=b, OU = x")
	f.Fuzz(func(t *testing.T, text string) {
		parts, err := usercert.ParseDN(text)
		if err == nil {
			require.NotEmpty(t, parts)
		}
	})
}
