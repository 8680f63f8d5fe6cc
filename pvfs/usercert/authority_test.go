package usercert_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/certtest"
	"github.com/viaduct-hpc/viaduct/pvfs/usercert"
)

// TestVerify: the authority accepts only certificates that it signed itself and that are valid.
func TestVerify(t *testing.T) {
	ca, other, twin := certtest.New(t, "CA"), certtest.New(t, "other"), certtest.New(t, "CA")
	a := ca.Authority(t)
	now := time.Now()
	key := certtest.NewKey(t)
	u, err := a.Verify(ca.Sign(t, "alice", key, nil), now)
	require.NoError(t, err)
	require.Equal(t, usercert.Subject{CommonName: "alice", DN: "CN=alice,O=OrangeFS,C=US"}, u.Subject)
	require.True(t, key.RSA().PublicKey.Equal(u.Key))
	require.False(t, u.Authority)

	u, err = a.Verify(ca.Cert.Raw, now)
	require.NoError(t, err)
	require.True(t, u.Authority)

	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	elliptic, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: ca.Cert.SerialNumber, Subject: pkix.Name{CommonName: "alice"}, NotBefore: ca.Cert.NotBefore, NotAfter: ca.Cert.NotAfter,
	}, ca.Cert, &ec.PublicKey, ca.Key.RSA())
	require.NoError(t, err)

	damaged := ca.Sign(t, "alice", key, nil)
	damaged[len(damaged)-1] ^= 1
	renamed := []byte(strings.Replace(string(ca.Sign(t, "alice", key, nil)), "alice", "carol", 1))
	named := func(name pkix.Name) func(*x509.Certificate) {
		return func(c *x509.Certificate) { c.Subject = name }
	}
	raw := func(parts ...string) func(*x509.Certificate) {
		return func(c *x509.Certificate) {
			var all pkix.RDNSequence
			for _, name := range parts {
				all = append(all, pkix.RelativeDistinguishedNameSET{{Type: asn1.ObjectIdentifier{2, 5, 4, 3}, Value: name}})
			}
			var err error
			c.RawSubject, err = asn1.Marshal(all)
			require.NoError(t, err)
		}
	}
	for name, bad := range map[string]struct {
		der []byte
		err error
	}{
		"none":            {nil, usercert.ErrMissing},
		"no certificate":  {[]byte("certificate"), usercert.ErrUnsuitable},
		"too long":        {make([]byte, 8193), usercert.ErrUnsuitable},
		"something after": {append(ca.Sign(t, "alice", key, nil), 0), usercert.ErrUnsuitable},
		"other authority": {other.Sign(t, "alice", key, nil), usercert.ErrForeign},
		"the same name":   {twin.Sign(t, "alice", key, nil), usercert.ErrForeign},
		"its certificate": {twin.Cert.Raw, usercert.ErrForeign},
		"signature":       {damaged, usercert.ErrForeign},
		"changed name":    {renamed, usercert.ErrForeign},
		"self-signed":     {certtest.New(t, "alice").Cert.Raw, usercert.ErrForeign},
		"expired":         {ca.Sign(t, "alice", key, func(c *x509.Certificate) { c.NotAfter = now.Add(-time.Second) }), usercert.ErrExpired},
		"of tomorrow":     {ca.Sign(t, "alice", key, func(c *x509.Certificate) { c.NotBefore = now.Add(time.Hour) }), usercert.ErrExpired},
		"authority":       {ca.Sign(t, "alice", key, func(c *x509.Certificate) { c.IsCA = true }), usercert.ErrUnsuitable},
		"elliptic curve":  {elliptic, usercert.ErrUnsuitable},
		"no name":         {ca.Sign(t, "", key, named(pkix.Name{Organization: []string{"x"}})), usercert.ErrUnsuitable},
		"two names":       {ca.Sign(t, "", key, raw("alice", "root")), usercert.ErrUnsuitable},
		"path":            {ca.Sign(t, "", key, raw("alice/CN=root")), usercert.ErrUnsuitable},
		"zero":            {ca.Sign(t, "", key, raw("root\x00alice")), usercert.ErrUnsuitable},
		"critical": {ca.Sign(t, "alice", key, func(c *x509.Certificate) {
			c.ExtraExtensions = []pkix.Extension{{Id: asn1.ObjectIdentifier{1, 2, 3}, Critical: true, Value: []byte{5, 0}}}
		}), usercert.ErrUnsuitable},
	} {
		_, err := a.Verify(bad.der, now)
		require.ErrorIs(t, err, bad.err, name)
	}
	_, err = a.Verify(ca.Sign(t, "alice", key, nil), ca.Cert.NotAfter.Add(time.Second))
	require.ErrorIs(t, err, usercert.ErrExpired, "the authority itself")
	_, err = a.Verify(ca.Cert.Raw, ca.Cert.NotAfter.Add(time.Second))
	require.ErrorIs(t, err, usercert.ErrExpired, "the authority itself")
}

// TestAuthorityFiles: a file that is not an authority, or that others can use, is refused with a clear error.
func TestAuthorityFiles(t *testing.T) {
	ca, other := certtest.New(t, "CA"), certtest.New(t, "other")
	dir := t.TempDir()
	write := func(name string, text []byte, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, text, mode))
		require.NoError(t, os.Chmod(path, mode))
		return path
	}
	good := certtest.PEM(ca.Cert.Raw)
	a, err := usercert.ReadAuthority(write("beside", append(ca.Key.Private(), good...), 0o600), "")
	require.NoError(t, err, "a key beside it is passed over")
	require.False(t, a.Issues())
	_, err = a.Issue(usercert.Wish{Name: "alice", Key: &ca.Key.RSA().PublicKey, Valid: time.Hour}, time.Now())
	require.ErrorIs(t, err, usercert.ErrNoKey)
	user := certtest.PEM(ca.Sign(t, "alice", ca.Key, nil))
	for says, files := range map[string][2]string{
		"others can write":         {write("writable", good, 0o666), ""},
		"no certificate in PEM":    {write("key", ca.Key.Private(), 0o600), ""},
		"more than one":            {write("two", slices.Concat(good, good), 0o600), ""},
		"none of an authority":     {write("user", user, 0o600), ""},
		"not the key of the autho": {ca.CertFile, other.KeyFile},
		"chmod 600":                {ca.CertFile, write("open", ca.Key.Private(), 0o644)},
	} {
		_, err := usercert.ReadAuthority(files[0], files[1])
		require.ErrorIs(t, err, usercert.ErrFile, says)
		require.ErrorContains(t, err, says)
	}
}

// TestIssue: an issued certificate verifies, and has no more contents than the authority wants.
func TestIssue(t *testing.T) {
	ca := certtest.New(t, "CA")
	a := ca.Authority(t)
	key := &certtest.NewKey(t).RSA().PublicKey
	now := time.Now()
	prefix, err := usercert.ParseDN("C=US, O=Some, Inc = x")
	require.Error(t, err, prefix)
	prefix, err = usercert.ParseDN("dc=org,DC=example, ou=People here")
	require.NoError(t, err)
	der, err := a.Issue(usercert.Wish{Name: "Jürgen, jr", Key: key, Prefix: prefix, Valid: 48 * time.Hour}, now)
	require.NoError(t, err)
	u, err := a.Verify(der, now)
	require.NoError(t, err)
	require.Equal(t, usercert.Subject{CommonName: "Jürgen, jr", DN: `CN=Jürgen\, jr,OU=People here,DC=example,DC=org`}, u.Subject)
	require.WithinDuration(t, now.Add(48*time.Hour), u.NotAfter, time.Second)
	again, err := a.Issue(usercert.Wish{Name: "alice", Key: key, Valid: 1000 * time.Hour}, now)
	require.NoError(t, err)
	u, err = a.Verify(again, now)
	require.NoError(t, err)
	require.Equal(t, ca.Cert.NotAfter, u.NotAfter, "it does not outlive the authority's own")
	cert, err := x509.ParseCertificate(again)
	require.NoError(t, err)
	require.Equal(t, x509.SHA256WithRSA, cert.SignatureAlgorithm)
	require.False(t, cert.IsCA)
	for _, name := range []string{"", "a/CN=root", "a\x00", "a\nb", strings.Repeat("x", 65)} {
		_, err := a.Issue(usercert.Wish{Name: name, Key: key, Valid: time.Hour}, now)
		require.Error(t, err, name)
	}
	_, err = a.Issue(usercert.Wish{Name: "alice", Key: key, Valid: time.Hour}, ca.Cert.NotAfter)
	require.ErrorIs(t, err, usercert.ErrExpired)
}

func TestParseDN(t *testing.T) {
	for text, says := range map[string]string{
		"":              "is no part of a name",
		"O":             "is no part of a name",
		"O=":            "is no part of a name",
		"X=y":           "no part of a name is called X",
		"CN=x":          "the common name is that of the user",
		"O=a/CN=root":   "a slash",
		"O=\x01":        "a control character",
		"O=x,,C=US":     "is no part of a name",
		"O=\xff\xfe, C": "a control character",
	} {
		_, err := usercert.ParseDN(text)
		require.ErrorContains(t, err, says, text)
	}
}
