package secure

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/environ"
	"github.com/viaduct-hpc/viaduct/internal/keyfile"
	"github.com/viaduct-hpc/viaduct/internal/sharedkey"
)

// The environment variables that FromEnv reads. They hold names of files, never a
// key.
const (
	EnvCert       = "VIADUCT_TLS_CERT"
	EnvKey        = "VIADUCT_TLS_KEY"
	EnvCA         = "VIADUCT_TLS_CA"
	EnvSecret     = "VIADUCT_TLS_SECRET"
	EnvServerName = "VIADUCT_TLS_SERVER_NAME"
)

// FileBytesMax is the largest file that Load reads, in bytes.
const FileBytesMax = 1 << 20

// Files names the files with the identity of this side and the accepted
// identities: either Cert, Key and CA, or Secret.
type Files struct {
	// Cert is the certificate of this side, PEM, the leaf first, followed by any
	// intermediate certificates.
	Cert string `about:"file with the certificate of this side, PEM" env:"VIADUCT_TLS_CERT"`
	// Key is the private key of Cert, PEM, readable by its owner only.
	Key string `about:"file with the private key of the certificate, PEM" env:"VIADUCT_TLS_KEY"`
	// CA has the certificates of the authorities that must have signed the other
	// side's certificate, PEM.
	CA string `about:"file with the certificates of accepted authorities, PEM" env:"VIADUCT_TLS_CA"`
	// Secret has a key that both sides share, as package sharedkey reads it, and is
	// readable by its owner only.
	Secret string `about:"file with a key that both sides share" env:"VIADUCT_TLS_SECRET"`
	// ServerName is a name or an IP address that the certificate of a dialled
	// server must carry. Empty: any server certificate of the CA is accepted. It
	// is ignored with Secret.
	ServerName string `about:"name or address that the certificate of a dialled server must carry; empty: any" env:"VIADUCT_TLS_SERVER_NAME"`
}

// FilesFromEnv takes the names of the files from the environment.
func FilesFromEnv() Files {
	return Files{
		Cert: environ.Getenv(EnvCert), Key: environ.Getenv(EnvKey), CA: environ.Getenv(EnvCA),
		Secret: environ.Getenv(EnvSecret), ServerName: environ.Getenv(EnvServerName),
	}
}

// FromEnv loads the files that the environment names.
func FromEnv() (*Config, error) { return FilesFromEnv().Load() }

// Load reads the files and checks them. Its errors say what to do.
func (f Files) Load() (*Config, error) {
	cfg, err := f.load()
	if err != nil {
		return nil, err
	}
	cfg.from = f
	return cfg, nil
}

// names are those of the files that are given.
func (f Files) names() []string {
	return slices.DeleteFunc([]string{f.Cert, f.Key, f.CA, f.Secret}, func(name string) bool { return name == "" })
}

func (f Files) load() (*Config, error) {
	certificates := f.Cert != "" || f.Key != "" || f.CA != ""
	switch {
	case f.Secret != "" && (certificates || f.ServerName != ""):
		return nil, errors.New("secure: both a shared key and certificates are given; choose one")
	case f.Secret != "":
		return f.loadSecret()
	case certificates:
		return f.loadCertificates()
	}
	return nil, fmt.Errorf("secure: no key is given: set %s to the name of a file with a shared key, or %s, %s and %s to those of certificate files",
		EnvSecret, EnvCert, EnvKey, EnvCA)
}

func (f Files) loadSecret() (*Config, error) {
	key, err := sharedkey.Source{File: f.Secret}.Load()
	if err != nil {
		return nil, fmt.Errorf("secure: shared key (%s): %w", EnvSecret, err)
	}
	return fromSecret(key)
}

func (f Files) loadCertificates() (*Config, error) {
	for _, need := range []struct{ what, name, env string }{
		{"a certificate", f.Cert, EnvCert}, {"a private key", f.Key, EnvKey}, {"a CA", f.CA, EnvCA},
	} {
		if need.name == "" {
			return nil, fmt.Errorf("secure: certificate, private key and CA belong together, but %s is missing (%s)", need.what, need.env)
		}
	}
	cert, err := read("certificate", f.Cert, false)
	if err != nil {
		return nil, err
	}
	key, err := read("private key", f.Key, true)
	if err != nil {
		return nil, err
	}
	ca, err := read("CA", f.CA, false)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("secure: certificate %s with private key %s: %w", f.Cert, f.Key, err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return nil, fmt.Errorf("secure: CA %s has no certificate in PEM form", f.CA)
	}
	cfg, err := fromCertificates(pair, roots, f.ServerName, time.Now())
	if err != nil {
		return nil, fmt.Errorf("secure: certificate %s: %w", f.Cert, err)
	}
	return cfg, nil
}

// read returns the contents of a file. A private file must not be accessible to
// others.
func read(what, name string, private bool) ([]byte, error) {
	file := keyfile.Public
	if private {
		file = keyfile.Secret
	}
	text, err := file(name, FileBytesMax)
	if err != nil {
		return nil, fmt.Errorf("secure: %s: %w", what, err)
	}
	return text, nil
}
