package secure

import (
	"crypto/cipher"
	"encoding/binary"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
)

// sealed is the Session with keys. The number of a packet determines its key:
// EpochPackets packets have one key, then the next key of a chain follows.
// Neither side tells the other.
type sealed struct {
	base
	nonce [nonceBytes]byte // of the current packet; a field, so that it is not allocated
	bits  uint8            // of a number, within its epoch

	send      cipher.AEAD
	sendEpoch uint64
	sendChain chain

	// The keys of recvEpoch, and of the epochs before and after it if they may be
	// needed, because packets can overtake each other.
	recv, recvBefore, recvAfter cipher.AEAD
	recvEpoch                   uint64
	recvChain                   chain
}

const nonceBytes = 12

func newSealed(which wire.Ciphers, s secrets, bits uint8) *sealed {
	c := &sealed{bits: bits, sendChain: chain{which, s.send}, recvChain: chain{which, s.recv}}
	c.send, c.recv = c.sendChain.next(), c.recvChain.next()
	c.stats.Epochs = 2
	return c
}

// Room implements Session.
func (*sealed) Room(head, body int) int { return head + body + wire.TagLen }

// Overhead implements Session.
func (*sealed) Overhead() int { return wire.TagLen }

// Seal implements Session. The packet is in head.
func (c *sealed) Seal(vec [][]byte, head []byte, body [][]byte) ([][]byte, error) {
	number, err := c.take(head)
	if err != nil {
		return vec, err
	}
	if epoch := number >> c.bits; epoch != c.sendEpoch {
		c.sendEpoch, c.send = epoch, c.sendChain.next()
		c.stats.Epochs++
	}
	for _, piece := range body {
		head = append(head, piece...)
	}
	clear := head[:wire.PacketLen]
	return append(vec, c.send.Seal(clear, c.nonceOf(number), head[wire.PacketLen:], clear)), nil
}

// Open implements Session.
func (c *sealed) Open(packet []byte) ([]byte, error) {
	number, err := c.check(packet, wire.TagLen)
	if err != nil {
		return nil, err
	}
	epoch := number >> c.bits
	key := c.key(epoch)
	if key == nil {
		return nil, c.forged()
	}
	clear, secret := packet[:wire.PacketLen], packet[wire.PacketLen:]
	payload, err := key.Open(secret[:0], c.nonceOf(number), secret, clear)
	if err != nil {
		return nil, c.forged()
	}
	c.opened(number)
	c.turn(epoch)
	return payload, nil
}

// key returns the key of an epoch; nil: no honest packet can be of that epoch
// now. The next epoch's key is made when a packet first claims to be of it, and
// then kept, so that forged packets cause that work only once.
func (c *sealed) key(epoch uint64) cipher.AEAD {
	switch epoch {
	case c.recvEpoch:
		return c.recv
	case c.recvEpoch - 1:
		return c.recvBefore
	case c.recvEpoch + 1:
		if c.recvAfter == nil {
			c.recvAfter = c.recvChain.next()
			c.stats.Epochs++
		}
		return c.recvAfter
	}
	return nil
}

// turn moves on to the epoch of an authentic packet, and forgets the previous key
// once the window is past its epoch.
func (c *sealed) turn(epoch uint64) {
	if epoch == c.recvEpoch+1 {
		c.recvEpoch = epoch
		c.recvBefore, c.recv, c.recvAfter = c.recv, c.recvAfter, nil
	}
	if c.recvBefore != nil && c.window.end > c.recvEpoch<<c.bits+WindowPackets {
		c.recvBefore = nil
	}
}

// nonceOf makes every packet under one key different.
func (c *sealed) nonceOf(number uint64) []byte {
	binary.LittleEndian.PutUint64(c.nonce[nonceBytes-8:], number)
	return c.nonce[:]
}
