//go:build linux

package process

import (
	"cmp"
	"errors"
	"log/slog"
	"path/filepath"
	"time"
)

// Config configures a plugin's process.
type Config struct {
	// Name of the plugin, for errors and logs; the file's name if empty.
	Name string
	// Path of the file, and its arguments without the program name.
	Path string
	Args []string
	// Env is the environment of the process, "K=V". Nothing is inherited; go-plugin adds its own
	// variables.
	Env []string
	// SHA256 is the checksum that the file must have; nil means any.
	SHA256 []byte
	// Plaintext disables mutual TLS, for plugins in languages without it.
	Plaintext bool
	// StartTimeout limits the time from the start to the plugin's first answer; 0 means 1 min.
	StartTimeout time.Duration
	// Log receives the plugin's log and output; nil discards them.
	Log *slog.Logger

	endsWithin time.Duration // 0: endsWithin; tests do not depend on how busy a machine is
}

const defaultStartTimeout = time.Minute

// Reasons why a plugin could not be started. The error's text has details, and says what to do.
var (
	// ErrNotExecutable: the kernel refuses to execute the file (no permission, another
	// architecture, not a program).
	ErrNotExecutable = errors.New("cannot be executed")
	// ErrNotAPlugin: the file runs, but does not print a plugin's handshake, or not in time.
	ErrNotAPlugin = errors.New("not a plugin of BMI methods")
	// ErrProtocolVersion: a plugin for another version of the plugin protocol.
	ErrProtocolVersion = errors.New("another version of the plugin protocol")
	// ErrChecksum: the file is not the one whose checksum was given.
	ErrChecksum = errors.New("wrong SHA-256 checksum")
	// ErrPlaintext: the plugin does not use mutual TLS, and Config.Plaintext is not set.
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
