package stacktest

import (
	"bytes"

	"github.com/stretchr/testify/require"
)

// blockBytes is how many bytes of the pattern are computed at a time.
const blockBytes = 4096

// block computes the pattern from an offset of a stream on; no part of it repeats soon. The
// race detector need not look at each byte; it sees them when they are copied or compared.
//
//go:norace
func block(b *[blockBytes]byte, offset int) {
	for i := range b {
		x := uint32(offset+i) * 2654435761
		b[i] = byte(x>>24) ^ byte(offset+i)
	}
}

// fill writes the pattern from an offset on.
func fill(b []byte, offset int) {
	var want [blockBytes]byte
	for len(b) > 0 {
		block(&want, offset)
		n := copy(b, want[:])
		b, offset = b[n:], offset+n
	}
}

// verify checks received bytes against the pattern.
func verify(t T, b []byte, offset int) {
	var want [blockBytes]byte
	for len(b) > 0 {
		block(&want, offset)
		n := min(len(b), blockBytes)
		if !bytes.Equal(b[:n], want[:n]) {
			t.Helper()
			wrong(t, b[:n], want[:n], offset)
		}
		b, offset = b[n:], offset+n
	}
}

// wrong reports where bytes differ from the pattern.
func wrong(t T, b, want []byte, offset int) {
	t.Helper()
	for i := range b {
		if b[i] != want[i] {
			require.Failf(t, "wrong byte", "at %d: %#x, want %#x", offset+i, b[i], want[i])
		}
	}
}
