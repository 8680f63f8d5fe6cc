package secure

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"time"
)

// protocol is the name that both sides must offer (ALPN), so that a certificate
// that is also valid for another application cannot be used here, nor the
// reverse.
const protocol = "viaduct-bmi/1"

// A Config holds the identity of this side and the identities that it accepts.
// Files.Load and FromEnv make one. Many stacks may share it; it must not change once one does.
type Config struct {
	// HandshakeTimeout is how long a handshake may take; 0: HandshakeTimeout.
	HandshakeTimeout time.Duration
	// HandshakesMax bounds the streams of all listeners in their handshakes, and
	// for each listener those waiting for Accept; 0: HandshakesMax. Others wait
	// in the stack below.
	HandshakesMax int
	// Clock measures HandshakeTimeout; nil: monotonic.
	Clock func() time.Duration
	// Inline makes Poll wait for every step of a handshake, some hundred
	// microseconds of arithmetic. Then nothing depends on the scheduling of
	// goroutines: for simulation.
	Inline bool

	server, client *tls.Config
	// Why our certificate cannot be used to listen, and to dial; nil if it can.
	serverErr, clientErr error
	// shared: the two sides share a key instead of having certificates.
	shared bool
	// from are the files that this configuration came from; none if it came from no files.
	from Files
}

// Defaults of Config.
const (
	HandshakeTimeout = 10 * time.Second
	HandshakesMax    = 256
)

// base is the part common to all configurations.
func base(own tls.Certificate) *tls.Config {
	return &tls.Config{
		MinVersion:             tls.VersionTLS13,
		MaxVersion:             tls.VersionTLS13,
		Certificates:           []tls.Certificate{own},
		NextProtos:             []string{protocol},
		SessionTicketsDisabled: true,
		// Use full records from the start: no receiver profits from small first
		// records.
		DynamicRecordSizingDisabled: true,
	}
}

// errProtocol: the other side did not name our application protocol.
var errProtocol = fmt.Errorf("the other side speaks TLS but not Viaduct's protocol %q", protocol)

func checkProtocol(state *tls.ConnectionState) error {
	if state.NegotiatedProtocol != protocol {
		return errProtocol
	}
	return nil
}

// fromCertificates makes the configuration of mutual authentication by
// certificates of one CA.
func fromCertificates(own tls.Certificate, roots *x509.CertPool, serverName string, now time.Time) (*Config, error) {
	if own.Leaf == nil {
		leaf, err := x509.ParseCertificate(own.Certificate[0])
		if err != nil {
			return nil, err
		}
		own.Leaf = leaf
	}
	between, err := parseAll(own.Certificate[1:])
	if err != nil {
		return nil, err
	}
	switch leaf := own.Leaf; {
	case now.After(leaf.NotAfter):
		return nil, fmt.Errorf("expired on %s: have the CA sign a new one", leaf.NotAfter.Format(time.DateTime))
	case now.Before(leaf.NotBefore):
		return nil, fmt.Errorf("not valid before %s: check the clock of this machine", leaf.NotBefore.Format(time.DateTime))
	}
	verify := func(usage x509.ExtKeyUsage) error {
		return verifyChain(own.Leaf, between, roots, "", now, usage)
	}
	if err := verify(x509.ExtKeyUsageAny); err != nil {
		return nil, fmt.Errorf("the given CA did not sign it: %w", err)
	}
	cfg := &Config{server: base(own), client: base(own)}
	if err := verify(x509.ExtKeyUsageServerAuth); err != nil {
		cfg.serverErr = errors.New("secure: the certificate is not one to listen with: have it signed with extendedKeyUsage=serverAuth,clientAuth")
	}
	if err := verify(x509.ExtKeyUsageClientAuth); err != nil {
		cfg.clientErr = errors.New("secure: the certificate is not one to dial with: have it signed with extendedKeyUsage=serverAuth,clientAuth")
	}
	cfg.server.ClientAuth = tls.RequireAndVerifyClientCert
	cfg.server.ClientCAs = roots
	cfg.server.VerifyConnection = func(state tls.ConnectionState) error { return checkProtocol(&state) }
	// A dialler has only an address, and by default no name to check: the CA is
	// private, and any server certificate signed by it is accepted. So this check
	// replaces that of crypto/tls.
	cfg.client.ServerName = serverName
	cfg.client.InsecureSkipVerify = true
	cfg.client.VerifyConnection = func(state tls.ConnectionState) error {
		if err := checkProtocol(&state); err != nil {
			return err
		}
		peer := state.PeerCertificates
		return verifyChain(peer[0], peer[1:], roots, serverName, time.Now(), x509.ExtKeyUsageServerAuth)
	}
	return cfg, nil
}

func parseAll(raw [][]byte) ([]*x509.Certificate, error) {
	var certs []*x509.Certificate
	for _, one := range raw {
		cert, err := x509.ParseCertificate(one)
		if err != nil {
			return nil, err
		}
		certs = append(certs, cert)
	}
	return certs, nil
}

func verifyChain(leaf *x509.Certificate, between []*x509.Certificate, roots *x509.CertPool, name string, now time.Time, usage x509.ExtKeyUsage) error {
	pool := x509.NewCertPool()
	for _, cert := range between {
		pool.AddCert(cert)
	}
	_, err := leaf.Verify(x509.VerifyOptions{
		DNSName: name, Roots: roots, Intermediates: pool, CurrentTime: now,
		KeyUsages: []x509.ExtKeyUsage{usage},
	})
	return err
}
