package secure

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"net/netip"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
)

// resets make the tokens that authenticate RESETs, and limit the rate of RESETs.
type resets struct {
	mac   hash.Hash
	in    [4 + addrBytes]byte
	out   [sha256.Size]byte
	full  time.Duration // when ResetBurst may be sent at once again
	begun bool
}

func newResets(key [keyBytes]byte) resets {
	return resets{mac: hmac.New(sha256.New, key[:])}
}

func (r *resets) token(id uint32, peer netip.Addr) (token wire.Token) {
	binary.LittleEndian.PutUint32(r.in[:], id)
	putAddr(r.in[4:], netip.AddrPortFrom(peer, 0))
	r.mac.Reset()
	r.mac.Write(r.in[:])
	copy(token[:], r.mac.Sum(r.out[:0]))
	return token
}

// take reports whether another RESET may be sent now.
func (r *resets) take(now time.Duration) bool {
	if !r.begun || r.full < now {
		r.begun, r.full = true, now
	}
	if r.full-now > (ResetBurst-1)*ResetEvery {
		return false
	}
	r.full += ResetEvery
	return true
}

// Token is sent to the other side of a connection in the handshake: a RESET with it
// comes from a device with our key, our name and our place. id is our own, peer the
// other side's address: a host that asks for tokens from another address gets others.
func (g *Guard) Token(id uint32, peer netip.Addr) wire.Token { return g.resets.token(id, peer) }

// Reset appends a RESET to b that answers a packet of an unknown connection. It
// appends nothing if the packet may not be answered, or if too many were.
func (g *Guard) Reset(now time.Duration, from netip.AddrPort, packet, b []byte) []byte {
	p, _, err := wire.ParsePacket(packet)
	if err != nil || len(packet) < wire.ResetBytes || !g.resets.take(now) {
		return b
	}
	return (&wire.Reset{To: p.To, Token: g.resets.token(p.To, from.Addr())}).Append(b)
}

// SameToken compares the token of a RESET with the one from the handshake
// (Peer.Token), in constant time.
func SameToken(a, b wire.Token) bool { return hmac.Equal(a[:], b[:]) }
