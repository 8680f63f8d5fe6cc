//go:build linux

package process

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
)

const (
	keyMessage = "@message"
	keyLevel   = "@level"
	keyTime    = "@timestamp"
	timeFormat = "2006-01-02T15:04:05.000000Z07:00"

	// LevelTrace is hclog's level below slog.LevelDebug.
	LevelTrace = slog.LevelDebug - 4

	// attrsMax limits the attributes of a record; more are left out.
	attrsMax = 64

	// pluginAttr is the attribute with the plugin's name in all its records.
	pluginAttr = "plugin"
	// itsAttr is a prefix for attributes of the plugin whose names the program uses too. So each
	// name occurs once, and the program's attributes are really the program's.
	itsAttr = "its."
)

// A lineLog makes records from lines: JSON in hclog's format, or text.
type lineLog struct {
	log     *slog.Logger
	inPanic bool // the rest is a Go program's panic
}

func (l *lineLog) line(line []byte) {
	if e, ok := parseEntry(line); ok {
		l.log.LogAttrs(context.Background(), e.level, e.message, e.attrs...)
		return
	}
	level, text := textLevel(string(line))
	if l.inPanic = l.inPanic || startsPanic(text); l.inPanic {
		level = slog.LevelError
	}
	l.text(level, []byte(text))
}

func (l *lineLog) text(level slog.Level, line []byte) {
	if len(line) > 0 {
		l.log.LogAttrs(context.Background(), level, strings.ToValidUTF8(string(line), "?"))
	}
}

func startsPanic(line string) bool {
	return strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ")
}

// textLevel finds the level at the beginning of a line of text, such as "[WARN] ".
func textLevel(line string) (slog.Level, string) {
	if rest, ok := strings.CutPrefix(line, "["); ok {
		if name, rest, ok := strings.Cut(rest, "]"); ok {
			if level, ok := levelOf(name); ok {
				return level, strings.TrimSpace(rest)
			}
		}
	}
	return slog.LevelInfo, line
}

func levelOf(name string) (slog.Level, bool) {
	switch strings.ToLower(name) {
	case "trace":
		return LevelTrace, true
	case "debug":
		return slog.LevelDebug, true
	case "info":
		return slog.LevelInfo, true
	case "warn":
		return slog.LevelWarn, true
	case "error":
		return slog.LevelError, true
	}
	return 0, false
}

// An entry is a line of JSON in hclog's format.
type entry struct {
	level   slog.Level
	message string
	attrs   []slog.Attr
}

// parseEntry returns false if a line is not in that format. It checks the type of everything in it.
func parseEntry(line []byte) (entry, bool) {
	if len(line) == 0 || line[0] != '{' {
		return entry{}, false
	}
	var fields map[string]any
	if json.Unmarshal(line, &fields) != nil {
		return entry{}, false
	}
	message, ok := fields[keyMessage].(string)
	if !ok {
		return entry{}, false
	}
	name, _ := fields[keyLevel].(string)
	level, ok := levelOf(name)
	if !ok {
		level = slog.LevelInfo
	}
	e := entry{level: level, message: message}
	for key, value := range fields {
		if key != keyMessage && key != keyLevel && key != keyTime && len(e.attrs) < attrsMax {
			e.attrs = append(e.attrs, slog.Any(attrName(key), value))
		}
	}
	slices.SortFunc(e.attrs, func(a, b slog.Attr) int { return strings.Compare(a.Key, b.Key) })
	return e, true
}

// attrName returns the name of a plugin's attribute in the program's log.
func attrName(key string) string {
	switch key {
	case pluginAttr, slog.TimeKey, slog.LevelKey, slog.MessageKey, slog.SourceKey:
		return itsAttr + key
	}
	return key
}

// Write makes a lineLog the output of go-plugin's own logger in the program, which repeats the
// plugin's name.
func (l *lineLog) Write(line []byte) (int, error) {
	if e, ok := parseEntry(line); ok {
		e.attrs = slices.DeleteFunc(e.attrs, func(a slog.Attr) bool { return a.Key == itsAttr+pluginAttr })
		l.log.LogAttrs(context.Background(), e.level, e.message, e.attrs...)
	}
	return len(line), nil
}

// goPluginLogger turns go-plugin's log into records. Little of it is of interest.
func goPluginLogger(log *slog.Logger) hclog.Logger {
	level := hclog.Warn
	if log.Enabled(context.Background(), slog.LevelDebug) {
		level = hclog.Debug
	}
	return hclog.New(&hclog.LoggerOptions{Level: level, Output: &lineLog{log: log}, JSONFormat: true})
}

// NewLogger returns a logger for a plugin. If w is the plugin's standard error, its records become
// records in the program's log, with their level and attributes.
func NewLogger(w io.Writer) *slog.Logger {
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: LevelTrace, ReplaceAttr: asHclog}))
}

func asHclog(groups []string, a slog.Attr) slog.Attr {
	if len(groups) > 0 {
		return a
	}
	switch a.Key {
	case slog.TimeKey:
		if t, ok := a.Value.Any().(time.Time); ok {
			return slog.String(keyTime, t.Format(timeFormat))
		}
	case slog.MessageKey:
		a.Key = keyMessage
	case slog.LevelKey:
		if level, ok := a.Value.Any().(slog.Level); ok {
			return slog.String(keyLevel, levelName(level))
		}
	}
	return a
}

func levelName(level slog.Level) string {
	switch {
	case level < slog.LevelDebug:
		return "trace"
	case level < slog.LevelInfo:
		return "debug"
	case level < slog.LevelWarn:
		return "info"
	case level < slog.LevelError:
		return "warn"
	}
	return "error"
}
