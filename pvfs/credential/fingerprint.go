package credential

import (
	"crypto/sha256"
	"crypto/x509"
	"fmt"
	"maps"
	"slices"
)

// Fingerprint is a text that only the same keys have. Nil has one, too.
func (ks *Keystore) Fingerprint() string {
	if ks == nil {
		return ""
	}
	h := sha256.New()
	for _, issuer := range slices.Sorted(maps.Keys(ks.keys)) {
		fmt.Fprintf(h, "%q %x\n", issuer, x509.MarshalPKCS1PublicKey(ks.keys[issuer]))
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// Fingerprint is a text that only the same identities have. Nil has one, too.
func (ids *Identities) Fingerprint() string {
	if ids == nil {
		return ""
	}
	h := sha256.New()
	for _, client := range slices.Sorted(maps.Keys(ids.clients)) {
		fmt.Fprintf(h, "%q %v\n", client, ids.clients[client])
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}
