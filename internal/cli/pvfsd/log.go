package pvfsd

import (
	"io"
	"log/slog"
	"os"
	"sync"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
)

// logger logs to the file with this name, or to standard error if the name is empty.
func (a *App) logger(name string, verbose bool) (*slog.Logger, *logFile, error) {
	f := &logFile{name: name}
	var out io.Writer = a.Err
	if name != "" {
		if err := f.reopen(); err != nil {
			return nil, nil, program.Usage(err)
		}
		out = f
	}
	level := slog.LevelInfo
	if verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: level})), f, nil
}

// logFile is a file that can be reopened after it was renamed. Without a name it does nothing.
type logFile struct {
	name string

	mu sync.Mutex
	f  *os.File
}

// reopen switches to the file that has the name now. If that cannot be opened, it keeps the old one.
func (l *logFile) reopen() error {
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

// info logs to the file. Standard error gets the same as a sentence.
func (l *logFile) info(log *slog.Logger, msg string, args ...any) {
	if l.name != "" {
		log.Info(msg, args...)
	}
}

func (l *logFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.f.Write(p)
}

func (l *logFile) close() {
	if l.f != nil {
		_ = l.f.Close() // every line was written at once
	}
}
