//go:build linux

package process

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"unicode"
)

const (
	// A longer line of output becomes several records.
	lineBytesMax = 64 << 10
	// lastLinesMax is how many lines of stderr are kept for the error of a failed start.
	lastLinesMax = 5
)

// output is the output of a process.
type output struct {
	name      string
	plaintext bool
	log       lineLog

	handshake *io.PipeReader // go-plugin reads the first line here
	toPlugin  *io.PipeWriter

	mu       sync.Mutex
	refused  error    // why the first line is not a handshake
	last     []string // lines of stderr
	panicked string   // the first line of a Go program's panic
}

func (o *output) init(cfg Config) {
	o.name, o.plaintext, o.log = cfg.Name, cfg.Plaintext, lineLog{log: cfg.Log}
	o.handshake, o.toPlugin = io.Pipe()
}

// errSilent: the output ended before the first line.
var errSilent = errors.New("it closed its output before it said where it serves")

// readStdout reads stdout to its end. The first line is the handshake, the rest is logged.
func (o *output) readStdout(r io.Reader) {
	defer o.toPlugin.Close()
	in := bufio.NewReaderSize(r, lineBytesMax)
	line, err := o.firstLine(in)
	if err != nil {
		o.mu.Lock()
		o.refused = err
		o.mu.Unlock()
		_ = o.toPlugin.Close() // ends go-plugin's start
	} else {
		_, _ = io.WriteString(o.toPlugin, line+"\n")
	}
	eachLine(in, func(line []byte) { o.log.text(slog.LevelInfo, line) })
}

func (o *output) firstLine(in *bufio.Reader) (string, error) {
	var line []byte
	for len(line) < handshakeBytesMax {
		b, err := in.ReadByte()
		if err != nil && len(line) == 0 {
			return "", fmt.Errorf("%w: %w", ErrNotAPlugin, errSilent)
		}
		if err != nil || b == '\n' {
			return checkHandshake(string(line), o.plaintext)
		}
		line = append(line, b)
	}
	return checkHandshake(string(line), o.plaintext)
}

// readStderr reads stderr to its end.
func (o *output) readStderr(r io.Reader) {
	eachLine(bufio.NewReaderSize(r, lineBytesMax), func(line []byte) {
		o.remember(line)
		o.log.line(line)
	})
}

// eachLine calls f with each line of r, without its end. A line longer than r's buffer comes in
// parts.
func eachLine(r *bufio.Reader, f func(line []byte)) {
	for {
		line, err := r.ReadSlice('\n')
		if len(line) > 0 {
			f([]byte(strings.TrimRight(string(line), "\r\n")))
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

func (o *output) remember(line []byte) {
	text := string(line)
	e, logged := parseEntry(line)
	if logged {
		if e.level < slog.LevelInfo {
			return
		}
		text = e.message
	}
	if len(text) > quoteBytesMax {
		text = text[:quoteBytesMax] + "..."
	}
	text = strings.Map(printable, text)
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.last) == lastLinesMax {
		o.last = append(o.last[:0], o.last[1:]...)
	}
	o.last = append(o.last, text)
	if o.panicked == "" && !logged && startsPanic(text) {
		o.panicked = text
	}
}

// printable removes control characters, which would reach the terminal.
func printable(r rune) rune {
	if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
		return '?'
	}
	return r
}

// words returns the last output on stderr for an error; it is empty if there was none.
func (o *output) words() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.panicked != "": // the panic message says more than the stack that follows
		return "; its last words: " + o.panicked
	case len(o.last) > 0:
		return "; its last words: " + strings.Join(o.last, " / ")
	}
	return ""
}

func (o *output) panicLine() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.panicked
}

func (o *output) refusal() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.refused
}
