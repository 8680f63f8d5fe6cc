package secure

import (
	"crypto/hkdf"
	"crypto/sha256"
	"fmt"
	"io"

	"github.com/viaduct-hpc/viaduct/internal/sharedkey"
)

// A Key is the secret that all sides share. It hides itself when printed.
type Key struct {
	root [keyBytes]byte
}

const keyBytes = sharedkey.Bytes

// The labels with which keys are derived. Another version has other keys, and so
// does another method, in case both get the same file.
const (
	keySalt       = "viaduct udp shared key, version 1"
	infoHandshake = "handshake"
	infoStatic    = "handshake with static keys"
	infoReset     = "reset of "
	infoPlace     = " at "
)

// A Source says where the key is.
type Source = sharedkey.Source

// ErrNoKey: a Source is empty. The caller knows how to give a key.
var ErrNoKey = sharedkey.ErrNone

// LoadKey reads the key. Its errors say what to do, and never show the key.
func LoadKey(s Source) (*Key, error) {
	shared, err := s.Load()
	if err != nil {
		return nil, fmt.Errorf("shared key: %w", err)
	}
	root, err := hkdf.Extract(sha256.New, shared[:], []byte(keySalt))
	if err != nil {
		return nil, err
	}
	key := &Key{}
	copy(key.root[:], root)
	return key, nil
}

// derive makes the key for one purpose.
func (k *Key) derive(info string) [keyBytes]byte { return expand(k.root, info) }

// Format keeps a key out of logs, for every verb and inside other values.
func (Key) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "Key(hidden)") }
