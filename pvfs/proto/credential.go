package proto

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// Limits of credentials, bytes.
const (
	maxIssuer      = 128
	maxCertificate = 8192
)

func (c Credential) String() string {
	return fmt.Sprintf("{uid=%d groups=%v %q until=%d signature=%d bytes certificate=%d bytes}",
		c.User, c.Groups, c.Issuer, unix(c.Timeout), len(c.Signature), len(c.Certificate))
}

// AppendSigned appends the signed part of the credential: user, groups, issuer and timeout, without padding (PINT_sign_credential
// in src/common/security/pint-security.c).
func (c *Credential) AppendSigned(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, c.User)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(c.Groups)))
	for _, g := range c.Groups {
		b = binary.LittleEndian.AppendUint32(b, g)
	}
	b = append(b, c.Issuer...)
	return binary.LittleEndian.AppendUint64(b, uint64(unix(c.Timeout)))
}

func (w *writer) credential(c *Credential) {
	w.skip4()
	w.skip4()
	w.u32(c.User)
	w.count(len(c.Groups))
	for _, g := range c.Groups {
		w.u32(g)
	}
	w.align8()
	w.str(c.Issuer)
	w.seconds(c.Timeout)
	w.count(len(c.Signature))
	w.bytes(c.Signature)
	w.align8()
	w.skip4()
	w.count(len(c.Certificate))
	w.bytes(c.Certificate)
	w.align8()
}

func (r *reader) credential(c *Credential) {
	r.skip4()
	r.skip4()
	c.User = r.u32("user id")
	c.Groups = nil
	if n := r.count("groups", MaxGroups, 4); n > 0 {
		c.Groups = make([]uint32, n)
		for i := range c.Groups {
			c.Groups[i] = r.u32("groups")
		}
	}
	r.align8()
	c.Issuer = r.issuer("credential issuer")
	c.Timeout = r.seconds("credential timeout")
	c.Signature = r.signature("credential signature")
	r.align8()
	r.skip4()
	c.Certificate = r.blob("certificate", maxCertificate)
	r.align8()
}

// issuer parses the issuer of a capability or a credential.
func (r *reader) issuer(field string) string { return r.str(field, maxIssuer) }

// signature parses a signature. The caller skips the padding after it.
func (r *reader) signature(field string) []byte { return r.blob(field, MaxSignature) }

// blob parses a length, at most limit, and that many bytes.
func (r *reader) blob(field string, limit int) []byte {
	b := r.take(field, r.count(field, limit, 1))
	if len(b) == 0 {
		return nil
	}
	return bytes.Clone(b)
}
