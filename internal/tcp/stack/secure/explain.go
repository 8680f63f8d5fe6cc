package secure

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/viaduct-hpc/viaduct/internal/fault"
	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
)

// explainHandshake turns the reason why a handshake ended into an error that says
// what to do. Whatever TLS itself found wrong is a question of identity. A broken
// connection is not, with one exception.
func (s *stream) explainHandshake(err error) error {
	var broken *transportError
	var plain tls.RecordHeaderError
	switch {
	case errors.As(err, &broken) && !s.heard && broken == errTruncated:
		return fault.Mark(errors.New("the other side closed the connection when it was asked for TLS: does it speak tcp:// rather than tcps://?"), stack.ErrIdentity, err)
	case errors.As(err, &broken):
		return fmt.Errorf("secure: the connection broke during the TLS handshake: %w", err)
	case errors.As(err, &plain):
		return fault.Mark(errors.New("the other side does not speak TLS: is it tcp:// rather than tcps://?"), stack.ErrIdentity, err)
	}
	return s.identity(err)
}

// explainRecv does the same for an error of Recv. In TLS 1.3 the dialling side
// finishes the handshake before the other side has checked its certificate, so
// the first thing that it receives may be a refusal.
func (s *stream) explainRecv(err error) error {
	var broken *transportError
	switch {
	case s.outErr == errFlooded:
		return fmt.Errorf("secure: %w", errFlooded)
	case errors.As(err, &broken):
		return fmt.Errorf("secure: the connection ended without an announcement: %w", broken.err)
	case isAlert(err) && !s.got:
		return s.identity(err)
	}
	return fmt.Errorf("secure: %w", err)
}

// isAlert reports whether the other side sent the error, rather than this side
// finding it.
func isAlert(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "remote error"
}

// identity says what is wrong with the identities of the two sides.
func (s *stream) identity(err error) error {
	whose, text := "the other side failed to prove who it is", err.Error()
	if isAlert(err) {
		whose = "the other side refused us"
	}
	hint := ""
	switch {
	case errors.Is(err, errProtocol) || strings.Contains(text, "application protocol"):
		hint = "is it something else than Viaduct that listens or dials there?"
	case strings.Contains(text, "protocol version"):
		hint = "it does not do TLS 1.3"
	case s.owner.cfg.shared:
		hint = "both sides need the same file with the shared key"
	case strings.Contains(text, "expired"):
		hint = "have the CA sign a new certificate, and check the clocks"
	default:
		hint = "both sides need certificates that the same CA signed, with extendedKeyUsage=serverAuth,clientAuth"
	}
	return fault.Markf(stack.ErrIdentity, "%s: %w (%s)", whose, err, hint)
}
