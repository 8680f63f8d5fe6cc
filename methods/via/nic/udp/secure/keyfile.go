package secure

import (
	"fmt"
	"io"
	"os"
	"syscall"
)

// readKeyFile returns what is in a key file. It must not be open to others. The
// rules are those of the TCP method's shared key.
func readKeyFile(name string) ([]byte, error) {
	// Without O_NONBLOCK, opening a pipe would wait for somebody to write.
	file, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("secure: shared key: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("secure: shared key: %w", err)
	}
	switch mode := info.Mode(); {
	case !mode.IsRegular():
		return nil, fmt.Errorf("secure: shared key %s is not a regular file", name)
	case mode.Perm()&0o077 != 0:
		return nil, fmt.Errorf("secure: shared key %s can be used by others (mode %#o): chmod 600 %s", name, mode.Perm(), name)
	}
	text, err := io.ReadAll(io.LimitReader(file, KeyFileBytesMax+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("secure: shared key %s: %w", name, err)
	case len(text) > KeyFileBytesMax:
		return nil, fmt.Errorf("secure: shared key %s is longer than %d bytes", name, KeyFileBytesMax)
	}
	return text, nil
}
