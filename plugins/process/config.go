//go:build linux

package process

import (
	"cmp"
	"errors"
	"log/slog"
	"path/filepath"
	"time"
)

// Config says what to start.
type Config struct {
	// Name of the plugin, for errors and logs; the file's name if empty.
	Name string
	// Path of the file and the arguments it is given, its own name not among them.
	Path string
	Args []string
	// Env is the environment of the process, "K=V". It inherits nothing; go-plugin adds
	// its own variables.
	Env []string
	// SHA256 is the checksum that the file must have; nil: any.
	SHA256 []byte
	// Plaintext does without mutual TLS, for plugins in languages that cannot do it.
	Plaintext bool
	// StartTimeout bounds the time from the start to an answer of the plugin; 0: 1 min.
	StartTimeout time.Duration
	// Log takes what the plugin logs and prints; nil: nothing does.
	Log *slog.Logger

	endsWithin time.Duration // 0: endsWithin; tests do not depend on how busy a machine is
}

const defaultStartTimeout = time.Minute

// Why a plugin could not be started. The error's text says more, and what to do.
var (
	// ErrNotExecutable: the kernel refuses to execute the file (no permission, another
	// architecture, no program at all).
	ErrNotExecutable = errors.New("cannot be executed")
	// ErrNotAPlugin: it runs, but does not say what a plugin of ours says first, or not in
	// time.
	ErrNotAPlugin = errors.New("not a plugin of BMI methods")
	// ErrProtocolVersion: a plugin for another version of the plugin protocol.
	ErrProtocolVersion = errors.New("another version of the plugin protocol")
	// ErrChecksum: the file is not the one whose checksum was given.
	ErrChecksum = errors.New("wrong SHA-256 checksum")
	// ErrPlaintext: the plugin cannot do mutual TLS, and Config.Plaintext is not set.
	ErrPlaintext = errors.New("does not encrypt")
)

// ErrEnded is what Pass returns when the process is gone.
var ErrEnded = errors.New("plugin ended")

func (c Config) withDefaults() Config {
	c.Name = cmp.Or(c.Name, filepath.Base(c.Path))
	c.StartTimeout = cmp.Or(c.StartTimeout, defaultStartTimeout)
	c.endsWithin = cmp.Or(c.endsWithin, endsWithin)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	c.Log = c.Log.With(pluginAttr, c.Name)
	return c
}
