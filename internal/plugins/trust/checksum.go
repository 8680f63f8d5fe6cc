//go:build linux

package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// ErrChecksum: a text is not a SHA-256 checksum.
var ErrChecksum = errors.New("not a SHA-256 checksum")

// Checksum returns the SHA-256 checksum of a file, 32 bytes.
func Checksum(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("internal/plugins/trust: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return nil, fmt.Errorf("internal/plugins/trust: %w", err)
	}
	return h.Sum(nil), nil
}

// ParseChecksum reads a checksum as sha256sum prints it: 64 hexadecimal digits in upper or lower
// case.
func ParseChecksum(text string) ([]byte, error) {
	sum, err := hex.DecodeString(strings.TrimSpace(text))
	if err != nil || len(sum) != sha256.Size {
		return nil, fmt.Errorf("%.80q is %w: give the %d digits that sha256sum prints", text, ErrChecksum, 2*sha256.Size)
	}
	return sum, nil
}
