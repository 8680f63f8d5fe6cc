package secure

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"

	"golang.org/x/crypto/chacha20poly1305"
	"golang.org/x/sys/cpu"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
)

// A chain makes the keys of one direction, one after the other. An earlier key
// cannot be computed from a later one, because the secret that made it is gone.
type chain struct {
	cipher wire.Ciphers
	secret [keyBytes]byte
}

const (
	infoKey  = "viaduct udp packets"
	infoNext = "viaduct udp next secret"
)

// next is the next key.
func (c *chain) next() cipher.AEAD {
	key := expand(c.secret, infoKey)
	c.secret = expand(c.secret, infoNext)
	return newAEAD(c.cipher, key)
}

// newAEAD makes the cipher that seals packets.
func newAEAD(which wire.Ciphers, key [keyBytes]byte) cipher.AEAD {
	var (
		aead cipher.AEAD
		err  error
	)
	if which == wire.CipherAES {
		var block cipher.Block
		if block, err = aes.NewCipher(key[:]); err == nil {
			aead, err = cipher.NewGCM(block)
		}
	} else {
		aead, err = chacha20poly1305.New(key[:])
	}
	if err != nil {
		panic(err) // only for other lengths
	}
	return aead
}

// fastCiphers are the ciphers that are fast on this machine. Without special
// instructions AES-GCM is slow, and in Go not constant in time.
func fastCiphers() wire.Ciphers {
	if cpu.X86.HasAES && cpu.X86.HasPCLMULQDQ || cpu.ARM64.HasAES && cpu.ARM64.HasPMULL {
		return wire.CipherChaCha | wire.CipherAES
	}
	return wire.CipherChaCha
}

// choose is the cipher for two sides.
func choose(ours, theirs wire.Ciphers) wire.Ciphers {
	if ours&theirs&wire.CipherAES != 0 {
		return wire.CipherAES
	}
	return wire.CipherChaCha
}

// expand derives a key from a root that is as good as random.
func expand(root [keyBytes]byte, info string) (key [keyBytes]byte) {
	out, err := hkdf.Expand(sha256.New, root[:], info, keyBytes)
	if err != nil {
		panic(err) // only for other lengths
	}
	copy(key[:], out)
	return key
}
