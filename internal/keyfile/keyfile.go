// Package keyfile reads files that are relevant to security: keys, which other users must not be able to read, and lists of
// permissions, which other users must not be able to change.
package keyfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// ErrUnsafe is wrapped by errors about an unsafe file: accessible to other users, too long, or not a regular file.
var ErrUnsafe = errors.New("keyfile: not a safe file")

// unsafeError is an error whose text is complete, and says what to do.
type unsafeError struct{ text string }

func (e *unsafeError) Error() string    { return e.text }
func (e *unsafeError) Is(is error) bool { return is == ErrUnsafe }

func unsafe(format string, args ...any) error { return &unsafeError{fmt.Sprintf(format, args...)} }

// Secret reads a file of at most bytesMax bytes that other users can neither read nor change. ErrUnsafe.
func Secret(name string, bytesMax int64) ([]byte, error) {
	return read(name, bytesMax, func(info os.FileInfo) error { return closed(name, info) })
}

// SecretOf is Secret for a file that belongs to a given user, for example one in its home. The target of a link must belong to
// that user, too. ErrUnsafe.
func SecretOf(uid uint32, name string, bytesMax int64) ([]byte, error) {
	return read(name, bytesMax, func(info os.FileInfo) error {
		if st, ok := info.Sys().(*syscall.Stat_t); !ok || st.Uid != uid {
			return unsafe("%s does not belong to user %d", name, uid)
		}
		return closed(name, info)
	})
}

// closed checks that other users can neither read nor change a file.
func closed(name string, info os.FileInfo) error {
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return unsafe("%s can be used by others (mode %#o): chmod 600 %s", name, mode, name)
	}
	return nil
}

// Trusted reads a file of at most bytesMax bytes that only this user and root can change. ErrUnsafe.
func Trusted(name string, bytesMax int64) ([]byte, error) {
	return read(name, bytesMax, func(info os.FileInfo) error {
		if mode := info.Mode().Perm(); mode&0o022 != 0 {
			return unsafe("others can write %s (mode %#o): chmod 600 %s", name, mode, name)
		}
		if st, ok := info.Sys().(*syscall.Stat_t); !ok || st.Uid != 0 && int(st.Uid) != os.Geteuid() {
			return unsafe("%s belongs to another user, who can change it: chown it to this user or root", name)
		}
		return nil
	})
}

// Public reads a file of at most bytesMax bytes, whoever may read or change it. ErrUnsafe.
func Public(name string, bytesMax int64) ([]byte, error) {
	return read(name, bytesMax, func(os.FileInfo) error { return nil })
}

func read(name string, bytesMax int64, check func(os.FileInfo) error) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // opening a pipe would wait for a writer
	if err != nil {
		return nil, err
	}
	defer f.Close() // it was only read
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, unsafe("%s is not a regular file", name)
	}
	if err := check(info); err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(f, bytesMax+1))
	if err != nil {
		return nil, err
	}
	if int64(len(b)) > bytesMax {
		clear(b)
		return nil, unsafe("%s is longer than %d bytes", name, bytesMax)
	}
	return b, nil
}
