package tracefile

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/trace"
)

// ErrFormat is for files that are no traces of Viaduct.
var ErrFormat = errors.New("no trace of Viaduct")

// A Header describes the process of a file, and when the clock of the file was 0.
type Header struct {
	PID                       int64
	Rank, Host, Boot, Program string
	Wall, Monotonic           time.Duration // since 1970, and since the machine was started
}

// Title names the process.
func (h *Header) Title() string {
	p := trace.Process{Rank: h.Rank, Program: h.Program, Host: h.Host}
	return p.Title()
}

// A Reader reads the events of a file.
type Reader struct {
	Header Header
	// Cut: the file ends within an event, as that of a killed process may.
	Cut bool

	name  string
	in    *bufio.Reader
	line  int
	ended bool
}

// Open opens a file. The caller closes it.
func Open(name string) (*Reader, io.Closer, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0) // not blocking: it may be a named pipe
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: %w: no regular file", name, ErrFormat)
	}
	var r *Reader
	if err == nil {
		r, err = NewReader(name, f)
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return r, f, nil
}

// NewReader reads the header of a file. The name is for errors.
func NewReader(name string, in io.Reader) (*Reader, error) {
	r := &Reader{name: name, in: bufio.NewReaderSize(in, lineBytesMax)}
	line, err := r.next()
	if err == nil && string(line) != "[" {
		err = r.wrong("it does not begin with a line [")
	}
	var e Event
	if err == nil {
		e, err = r.Next()
	}
	if err == nil && (e.Name != trace.HeaderName || e.Ph != "M") {
		err = r.wrong("the header is missing")
	}
	if err == io.EOF {
		err = r.wrong("it is empty")
	}
	if err != nil {
		return nil, err
	}
	return r, r.parseHeader(&e)
}

func (r *Reader) parseHeader(e *Event) error {
	a, err := e.args()
	if err != nil {
		return r.wrong(err.Error())
	}
	if a.Version != trace.Version {
		return r.wrong(fmt.Sprintf("it has version %.20q, and this program reads %s", a.Version, trace.Version))
	}
	wall, err := strconv.ParseInt(a.Wall, 10, 64)
	monotonic, e2 := strconv.ParseInt(a.Monotonic, 10, 64)
	if err != nil || e2 != nil || wall < 0 || monotonic < 0 || time.Duration(monotonic) > timeMax {
		return r.wrong("the times of the header make no sense")
	}
	r.Header = Header{
		PID: e.PID, Rank: a.Rank, Host: a.Host, Boot: a.Boot, Program: a.Program,
		Wall: time.Duration(wall), Monotonic: time.Duration(monotonic),
	}
	return nil
}

func (r *Reader) wrong(what string) error {
	return fmt.Errorf("%s: %w: line %d: %s", r.name, ErrFormat, r.line, what)
}

// Next returns the next event, or io.EOF after the last one.
func (r *Reader) Next() (e Event, err error) {
	if r.ended {
		return e, io.EOF
	}
	line, err := r.next()
	switch {
	case err != nil:
		return e, err
	case string(line) == "]":
		r.ended = true
		if rest, _ := r.in.Peek(1); len(rest) > 0 {
			return e, r.wrong("something follows the end of the array")
		}
		return e, io.EOF
	}
	if err := json.Unmarshal(line, &e); err != nil {
		if _, more := r.in.Peek(1); more == io.EOF { // a killed process did not write all of it
			r.ended, r.Cut = true, true
			return e, io.EOF
		}
		return e, r.wrong(err.Error())
	}
	if e.Ph == "" || len(e.Ph) > 1 {
		return e, r.wrong("an event has no phase of one letter")
	}
	return e, nil
}

// next returns the next line, without the comma between two events. At the end of an unfinished file it returns io.EOF.
func (r *Reader) next() ([]byte, error) {
	r.line++
	line, err := r.in.ReadSlice('\n')
	switch {
	case err == bufio.ErrBufferFull:
		return nil, r.wrong("it is too long")
	case err == io.EOF && len(line) == 0:
		r.ended, r.Cut = true, true
		return nil, io.EOF
	case err != nil && err != io.EOF:
		return nil, fmt.Errorf("read %s: %w", r.name, err)
	}
	return bytes.TrimSuffix(bytes.TrimRight(line, "\r\n"), []byte(",")), nil
}

// Each calls do for all events of a file. number counts them from 0.
func Each(name string, do func(r *Reader, number int, e *Event) error) (*Reader, error) {
	r, f, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for number := 0; ; number++ {
		e, err := r.Next()
		if err == io.EOF {
			return r, nil
		}
		if err != nil {
			return nil, err
		}
		if err := do(r, number, &e); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", name, r.line, err)
		}
	}
}
