package secure

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"io"
	"net/netip"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
)

// cookies make and recognise a value for an address that can only be known to a
// host that receives packets there. Nothing is stored per address. Every
// CookieSlot has its own key, from the random source; cookies of the previous
// slot are valid too.
type cookies struct {
	random       io.Reader
	made         bool
	slot         int64
	now, earlier hash.Hash // HMAC-SHA256; earlier is nil in the first slot
	in           [cookieInBytes]byte
	out          wire.Cookie
}

// A cookie depends on the source's address and port, nonce and from.
const cookieInBytes = 16 + 2 + 8 + 4

// turn renews the keys.
func (c *cookies) turn(now time.Duration) error {
	slot := int64(now / CookieSlot)
	if c.made && slot == c.slot {
		return nil
	}
	var key [keyBytes]byte
	if _, err := io.ReadFull(c.random, key[:]); err != nil {
		return err
	}
	if c.earlier = nil; c.made && slot == c.slot+1 {
		c.earlier = c.now
	}
	c.now, c.slot, c.made = hmac.New(sha256.New, key[:]), slot, true
	return nil
}

// give makes the cookie for an INIT.
func (c *cookies) give(from netip.AddrPort, m *wire.Init) wire.Cookie { return c.with(c.now, from, m) }

// good reports whether an INIT has a valid cookie.
func (c *cookies) good(from netip.AddrPort, m *wire.Init) bool {
	for _, mac := range [...]hash.Hash{c.now, c.earlier} {
		if mac == nil {
			continue
		}
		if want := c.with(mac, from, m); hmac.Equal(want[:], m.Cookie[:]) {
			return true
		}
	}
	return false
}

func (c *cookies) with(mac hash.Hash, from netip.AddrPort, m *wire.Init) wire.Cookie {
	putAddr(c.in[:], from)
	binary.LittleEndian.PutUint64(c.in[addrBytes:], m.Nonce)
	binary.LittleEndian.PutUint32(c.in[addrBytes+8:], m.From)
	mac.Reset()
	mac.Write(c.in[:])
	mac.Sum(c.out[:0])
	return c.out
}

const addrBytes = 18

// putAddr writes an address; IPv4 addresses in both forms give the same bytes.
func putAddr(b []byte, a netip.AddrPort) {
	ip := a.Addr().As16()
	copy(b, ip[:])
	binary.LittleEndian.PutUint16(b[16:], a.Port())
}
