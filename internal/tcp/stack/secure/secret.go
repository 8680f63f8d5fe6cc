package secure

import (
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/sharedkey"
)

// The labels with which the keys of the two roles are derived. Another version is
// another key.
const (
	secretSalt = "viaduct tcps shared key, version 1"
	infoServer = "ed25519 key of the side that listens"
	infoClient = "ed25519 key of the side that dials"
)

// errSecret: the other side's key does not come from our secret.
var errSecret = errors.New("the other side has a different shared key")

// fromSecret makes the configuration of two sides that share a key. crypto/tls
// does not support external pre-shared keys. So each role gets a key pair derived
// from the secret, and each side requires the other role's public key. TLS proves
// possession of the private key, and with it knowledge of the secret. Because the
// roles differ, our own proof cannot be reflected to us.
func fromSecret(key sharedkey.Key) (*Config, error) {
	defer clear(key[:])
	server, err := deriveKey(key[:], infoServer)
	if err != nil {
		return nil, err
	}
	client, err := deriveKey(key[:], infoClient)
	if err != nil {
		return nil, err
	}
	cfg := &Config{shared: true}
	if cfg.server, err = shared(server, client); err != nil {
		return nil, err
	}
	cfg.server.ClientAuth = tls.RequireAnyClientCert
	if cfg.client, err = shared(client, server); err != nil {
		return nil, err
	}
	// There is no CA; VerifyConnection compares keys instead.
	cfg.client.InsecureSkipVerify = true
	return cfg, nil
}

func deriveKey(secret []byte, info string) (ed25519.PrivateKey, error) {
	seed, err := hkdf.Key(sha256.New, secret, []byte(secretSalt), info, ed25519.SeedSize)
	if err != nil {
		return nil, err
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

// shared is the configuration of a side that has the key own and requires the
// other side to have the key other.
func shared(own, other ed25519.PrivateKey) (*tls.Config, error) {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		NotBefore:    time.Unix(0, 0),
		NotAfter:     time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, own.Public(), own)
	if err != nil {
		return nil, err
	}
	cfg := base(tls.Certificate{Certificate: [][]byte{der}, PrivateKey: own})
	want := other.Public().(ed25519.PublicKey)
	cfg.VerifyConnection = func(state tls.ConnectionState) error {
		if err := checkProtocol(&state); err != nil {
			return err
		}
		if got, ok := state.PeerCertificates[0].PublicKey.(ed25519.PublicKey); !ok || !want.Equal(got) {
			return errSecret
		}
		return nil
	}
	return cfg, nil
}
