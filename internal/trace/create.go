package trace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// CreatePattern is Create of the file that a variable or an option names, with the parts of Variable.
func CreatePattern(source, pattern string) (*Trace, error) {
	name, err := Expand(pattern)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	t, err := Create(name, Options{})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	return t, nil
}

// Expand fills in the parts of a pattern: %r is the rank, 0 without a launcher.
func Expand(pattern string) (string, error) {
	var name strings.Builder
	for i := 0; i < len(pattern); i++ {
		if pattern[i] != '%' {
			name.WriteByte(pattern[i])
			continue
		}
		i++
		switch {
		case i == len(pattern):
			return "", errors.New("the name of the trace ends with %; write %% for a percent sign")
		case pattern[i] == '%':
			name.WriteByte('%')
		case pattern[i] == 'p':
			name.WriteString(strconv.Itoa(os.Getpid()))
		case pattern[i] == 'h':
			host, err := os.Hostname()
			if err != nil {
				return "", fmt.Errorf("the name of this host for %%h: %w", err)
			}
			name.WriteString(strings.ReplaceAll(host, "/", "_"))
		case pattern[i] == 'r':
			r := rank(os.Getenv)
			if r == "" {
				r = "0"
			}
			name.WriteString(r)
		default:
			return "", fmt.Errorf("the name of the trace has %%%.1s: only %%r (rank), %%h (host), %%p (process) and %%%% are known", pattern[i:])
		}
	}
	return name.String(), nil
}

// Create makes a Trace that writes to a file, which only its owner can read. It makes the folder, but not the folders above. An
// existing file is overwritten only if it is a trace of this user which no process is writing.
func Create(name string, o Options) (*Trace, error) {
	f, err := CreateFile(name)
	if err != nil {
		return nil, err
	}
	t, err := New(f, o)
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	t.close = f.Close
	return t, nil
}

// CreateFile makes the empty file of a trace, by the rules of Create. It is locked until it is closed.
func CreateFile(name string) (*os.File, error) {
	if err := os.Mkdir(filepath.Dir(name), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o600)
	if errors.Is(err, fs.ErrExist) {
		// Not blocking: a named pipe would make the call wait for its other end.
		f, err = os.OpenFile(name, os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	}
	if errors.Is(err, unix.ELOOP) {
		return nil, fmt.Errorf("%s is a symbolic link: name the file itself", name)
	}
	if err != nil {
		return nil, err
	}
	if err := takeOver(f, name); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// takeOver locks a file and empties it, if it is one to overwrite.
func takeOver(f *os.File, name string) error {
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		if errors.Is(err, unix.EWOULDBLOCK) {
			return fmt.Errorf("another process is writing its trace to %s: give each its own file, with %%p or %%r in the name", name)
		}
		return fmt.Errorf("lock %s: %w", name, err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return fmt.Errorf("look at %s: %w", name, err)
	}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return fmt.Errorf("%s is no regular file", name)
	case int(st.Uid) != os.Geteuid():
		return fmt.Errorf("%s belongs to another user: choose another name", name)
	case st.Nlink > 1:
		return fmt.Errorf("%s has another name, too: choose another name", name)
	case st.Size > 0 && !isTrace(f):
		return fmt.Errorf("%s exists and is no trace of this program: remove it, or choose another name", name)
	}
	if err := f.Chmod(0o600); err != nil {
		return err
	}
	return f.Truncate(0)
}

// begins is how each trace begins.
var begins = []byte("[\n" + `{"name":"` + HeaderName + `",`)

// isTrace tells whether a file begins as a trace does.
func isTrace(f io.ReaderAt) bool {
	b := make([]byte, len(begins))
	_, err := f.ReadAt(b, 0)
	return err == nil && bytes.Equal(b, begins)
}
