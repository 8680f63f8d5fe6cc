package secure

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
)

// fate polls until both streams have ended for their owners. Each owner closes a stream as soon as
// it fails.
func fate(t *testing.T, client, server *side) (dialled, accepted error) {
	t.Helper()
	if server.l == nil {
		server.listen()
	}
	p := client.dial()
	end := func(p *peer) {
		if p.err != nil || !p.answer() {
			return
		}
		if p.err = p.Connected(); p.err == nil {
			p.push([]byte("a message that makes the socket of a refused peer non-empty"))
			p.pump()
		}
		if p.err != nil {
			p.Close()
			delete(p.side.streams, p.token)
		}
	}
	until(t, "both ends of the connection fail", func() bool {
		end(p)
		for _, q := range server.fresh {
			end(q)
		}
		return p.err != nil && len(server.fresh) > 0 && server.fresh[0].err != nil
	}, client, server)
	return p.err, server.fresh[0].err
}

// bent is one of our configurations with something wrong.
func bent(cfg *Config, change func(*tls.Config)) *Config {
	change(cfg.server)
	change(cfg.client)
	return cfg
}

func TestWrongKeyIsAClearErrorOnBothSides(t *testing.T) {
	ca, other := newAuthority(t), newAuthority(t)
	usage := func(u x509.ExtKeyUsage) func(*x509.Certificate) {
		return func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{u} }
	}
	files := ca.issue(nil)
	files.ServerName = "other.example"
	named, err := files.Load()
	require.NoError(t, err)
	for name, test := range map[string]struct {
		client, server    *Config
		dialled, accepted string
	}{
		"another shared key": {
			client: secretConfig(t, "a"), server: secretConfig(t, "b"),
			dialled: "a different shared key", accepted: "refused us",
		},
		"dialler's role reflected": {
			client: reflected(secretConfig(t, "a")), server: secretConfig(t, "a"),
			dialled: "refused us", accepted: "a different shared key",
		},
		"another CA": {
			client: ca.config(nil), server: other.config(nil),
			dialled: "unknown authority", accepted: "refused us",
		},
		"a dialler of another CA": {
			client: trusting(other.config(nil)), server: ca.config(nil),
			dialled: "refused us", accepted: "unknown authority",
		},
		"a dialler's certificate expired": {
			client: expired(ca), server: ca.config(nil),
			dialled: "expired", accepted: "expired",
		},
		"a listener's certificate expired": {
			client: ca.config(nil), server: expired(ca),
			dialled: "expired", accepted: "refused us",
		},
		"a dialler without a certificate": {
			client: bent(ca.config(nil), func(c *tls.Config) { c.Certificates = nil }), server: ca.config(nil),
			dialled: "refused us", accepted: "didn't provide a certificate",
		},
		"without a certificate, with a shared key": {
			client: bent(secretConfig(t, "a"), func(c *tls.Config) { c.Certificates = nil }), server: secretConfig(t, "a"),
			dialled: "refused us", accepted: "didn't provide a certificate",
		},
		"a certificate against a shared key": {
			client: trusting(ca.config(nil)), server: secretConfig(t, "a"),
			dialled: "refused us", accepted: "a different shared key",
		},
		"a shared key against a certificate": {
			client: ca.config(nil), server: secretConfig(t, "a"),
			dialled: "unknown authority", accepted: "refused us",
		},
		"a server's certificate that is for clients": {
			client: ca.config(nil), server: silenced(ca.config(usage(x509.ExtKeyUsageClientAuth))),
			dialled: "incompatible key usage", accepted: "refused us",
		},
		"a client's certificate that is for servers": {
			client: silenced(ca.config(usage(x509.ExtKeyUsageServerAuth))), server: ca.config(nil),
			dialled: "refused us", accepted: "incompatible key usage",
		},
		"another name": {
			client: named, server: ca.config(nil),
			dialled: "not other.example", accepted: "refused us",
		},
		"another protocol": {
			client: bent(secretConfig(t, "a"), func(c *tls.Config) { c.NextProtos = []string{"h2"} }), server: secretConfig(t, "a"),
			dialled: "something else than Viaduct", accepted: "something else than Viaduct",
		},
		"no protocol at the dialler": {
			client: unchecked(bent(secretConfig(t, "a"), func(c *tls.Config) { c.NextProtos = nil })), server: secretConfig(t, "a"),
			dialled: "refused us", accepted: "not Viaduct's protocol",
		},
		"no protocol at the listener": {
			client: secretConfig(t, "a"), server: unchecked(bent(secretConfig(t, "a"), func(c *tls.Config) { c.NextProtos = nil })),
			dialled: "not Viaduct's protocol", accepted: "refused us",
		},
		"an old version": {
			client: bent(secretConfig(t, "a"), func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS12, tls.VersionTLS12 }), server: secretConfig(t, "a"),
			dialled: "protocol version", accepted: "unsupported versions",
		},
	} {
		t.Run(name, func(t *testing.T) {
			worlds(t, func(t *testing.T, inline bool) {
				test.client.Inline, test.server.Inline = inline, inline
				n := newNetwork(1)
				dialled, accepted := fate(t, newSide(t, n.stack(), test.client), newSide(t, n.stack(), test.server))
				require.ErrorIs(t, dialled, stack.ErrIdentity)
				require.ErrorIs(t, accepted, stack.ErrIdentity)
				assert.Contains(t, dialled.Error(), test.dialled)
				assert.Contains(t, accepted.Error(), test.accepted)
			})
		})
	}
}

// reflected dials with the listener's own key.
func reflected(cfg *Config) *Config {
	cfg.client.Certificates = cfg.server.Certificates
	return cfg
}

// trusting accepts any server.
func trusting(cfg *Config) *Config {
	return bent(cfg, func(c *tls.Config) { c.InsecureSkipVerify, c.VerifyConnection = true, nil })
}

// unchecked does not look at the other side's protocol or key.
func unchecked(cfg *Config) *Config {
	return bent(cfg, func(c *tls.Config) { c.VerifyConnection = nil })
}

// silenced uses a certificate in a role for which it is not meant.
func silenced(cfg *Config) *Config {
	cfg.serverErr, cfg.clientErr = nil, nil
	return cfg
}

// expired has a certificate that was valid when it was loaded.
func expired(ca *authority) *Config {
	files := ca.issue(func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) })
	cert, err := os.ReadFile(files.Cert)
	require.NoError(ca.t, err)
	key, err := os.ReadFile(files.Key)
	require.NoError(ca.t, err)
	own, err := tls.X509KeyPair(cert, key)
	require.NoError(ca.t, err)
	roots := x509.NewCertPool()
	roots.AddCert(ca.Cert)
	cfg, err := fromCertificates(own, roots, "", time.Now().Add(-30*time.Minute))
	require.NoError(ca.t, err)
	return cfg
}

func TestCertificates(t *testing.T) {
	ca := newAuthority(t)
	for _, name := range []string{"", "storage.example", "192.0.2.1"} {
		worlds(t, func(t *testing.T, inline bool) {
			files := ca.issue(nil)
			files.ServerName = name
			cfg, err := files.Load()
			require.NoError(t, err)
			cfg.Inline = inline
			n := newNetwork(1)
			a, b := join(t, newSide(t, n.stack(), cfg), newSide(t, n.stack(), cfg))
			exchange(t, a, b, random(1, 50_000))
			exchange(t, b, a, random(2, 50_000))
		})
	}
}

func TestCertificateOfAnIntermediateCA(t *testing.T) {
	ca := newAuthority(t)
	between := &authority{ca.Between(), t}
	files := between.issue(nil)
	_, err := files.Load()
	require.ErrorContains(t, err, "did not sign it", "the chain has a hole")
	leaf, err := os.ReadFile(files.Cert)
	require.NoError(t, err)
	leaf = append(leaf, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: between.Cert.Raw})...)
	require.NoError(t, os.WriteFile(files.Cert, leaf, 0o600))
	cfg, err := files.Load()
	require.NoError(t, err)
	n := newNetwork(1)
	join(t, newSide(t, n.stack(), cfg), newSide(t, n.stack(), ca.config(nil)))
}

func TestCertificateOfOneRoleOnly(t *testing.T) {
	ca := newAuthority(t)
	n := newNetwork(1)
	only := func(u x509.ExtKeyUsage) *side {
		return newSide(t, n.stack(), ca.config(func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{u} }))
	}
	client, server := only(x509.ExtKeyUsageClientAuth), only(x509.ExtKeyUsageServerAuth)
	_, err := client.stack.Listen(address, 1)
	require.ErrorContains(t, err, "not one to listen with")
	_, err = server.stack.Dial(address, 1)
	require.ErrorContains(t, err, "not one to dial with")
	join(t, client, server)
}

// TestPeerName: each side knows the name in the other's certificate, if an authority vouches for it.
func TestPeerName(t *testing.T) {
	ca := newAuthority(t)
	as := func(name string) *Config {
		return ca.config(func(c *x509.Certificate) { c.Subject.CommonName = name })
	}
	forged := secretConfig(t, "a") // any holder of the shared key can write any name into its certificate
	for _, role := range []*tls.Config{forged.client, forged.server} {
		own := &role.Certificates[0]
		template := &x509.Certificate{
			SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "admin"}, NotBefore: time.Unix(0, 0), NotAfter: time.Now().Add(time.Hour),
		}
		key := own.PrivateKey.(ed25519.PrivateKey)
		der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
		require.NoError(t, err)
		own.Certificate = [][]byte{der}
	}
	for _, c := range []struct {
		client, server    *Config
		dialled, accepted string // the names that each side has of the other
	}{
		{as("alice"), as("node1"), "node1", "alice"},
		{as(""), as("node1"), "node1", ""},
		{forged, secretConfig(t, "a"), "", ""},
		{secretConfig(t, "a"), forged, "", ""},
	} {
		n := newNetwork(1)
		a, b := join(t, newSide(t, n.stack(), c.client), newSide(t, n.stack(), c.server))
		require.Equal(t, c.dialled, a.Stream.(stack.Named).PeerName())
		require.Equal(t, c.accepted, b.Stream.(stack.Named).PeerName())
	}
}
