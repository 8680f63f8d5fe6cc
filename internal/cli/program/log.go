package program

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"

	"github.com/spf13/pflag"
)

// A Log has the options of a command that logs: --log-level, --log-format and, with FileFlag, --log-file.
type Log struct {
	Level  string // debug, info, warn or error; "": what the command logs by default
	Format string // text or json
	File   string // "": standard error
}

// Flags adds the options.
func (l *Log) Flags(f *pflag.FlagSet, byDefault string) {
	f.StringVar(&l.Level, "log-level", "", "log this and worse: debug, info, warn or error (default: "+byDefault+")")
	f.StringVar(&l.Format, "log-format", "text", "format of the log: text or json")
}

// FileFlag adds --log-file.
func (l *Log) FileFlag(f *pflag.FlagSet) {
	f.StringVar(&l.File, "log-file", "", "append the log to this file (default: standard error)")
}

// Open opens the log. Without a file it goes to err.
func (l *Log) Open(err io.Writer, byDefault slog.Level) (*slog.Logger, *LogFile, error) {
	file := &LogFile{name: l.File, apart: l.File != "" || l.Format == "json"}
	if l.File != "" {
		if e := file.Reopen(); e != nil {
			return nil, nil, Usage(e)
		}
		err = file
	}
	log, e := l.Logger(err, byDefault)
	if e != nil {
		file.Close()
		return nil, nil, e
	}
	return log, file, nil
}

// Logger returns a log that is written to w.
func (l *Log) Logger(w io.Writer, level slog.Level) (*slog.Logger, error) {
	switch name := strings.ToLower(l.Level); name {
	case "":
	case "debug", "info", "warn", "error":
		if err := level.UnmarshalText([]byte(name)); err != nil {
			return nil, err
		}
	default:
		return nil, Usagef("--log-level %s: choose debug, info, warn or error", l.Level)
	}
	options := &slog.HandlerOptions{Level: level}
	switch l.Format {
	case "text":
		return slog.New(slog.NewTextHandler(w, options)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, options)), nil
	}
	return nil, Usagef("--log-format %s: choose text or json", l.Format)
}

// A LogFile can be reopened after it was renamed. Without a name it does nothing.
type LogFile struct {
	name  string
	apart bool // from what people read on standard error: a file, or lines of JSON

	mu sync.Mutex
	f  *os.File
}

// Name is the name of the file; "" if the log is standard error.
func (l *LogFile) Name() string { return l.name }

// Reopen switches to the file that has the name now. If that cannot be opened, it keeps the old one.
func (l *LogFile) Reopen() error {
	if l.name == "" {
		return nil
	}
	f, err := os.OpenFile(l.name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	l.mu.Lock()
	old := l.f
	l.f = f
	l.mu.Unlock()
	if old != nil {
		return old.Close()
	}
	return nil
}

// Log logs what the command also says as a sentence on standard error, unless the log goes there as text, too.
func (l *LogFile) Log(log *slog.Logger, level slog.Level, msg string, args ...any) {
	if l.apart {
		log.Log(context.Background(), level, msg, args...)
	}
}

// Info is Log at its usual level.
func (l *LogFile) Info(log *slog.Logger, msg string, args ...any) {
	l.Log(log, slog.LevelInfo, msg, args...)
}

// Write implements io.Writer.
func (l *LogFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f == nil {
		return 0, fmt.Errorf("the log %s is not open", l.name)
	}
	return l.f.Write(p)
}

// Close closes the file. Every line was written at once.
func (l *LogFile) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f != nil {
		_ = l.f.Close()
		l.f = nil
	}
}
