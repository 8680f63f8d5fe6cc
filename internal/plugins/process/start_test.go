//go:build linux

package process

import (
	"bytes"
	"context"
	"crypto/sha256"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestNotStarted: each reason has its own error and text.
func TestNotStarted(t *testing.T) {
	ends := func(role string) Config { // however long it takes
		cfg := as(role)
		cfg.endsWithin = patience
		return cfg
	}
	says := func(line string) Config { return as("says=" + line) }
	file := func(text string, mode os.FileMode) Config {
		path := filepath.Join(t.TempDir(), "bmi-method-test")
		require.NoError(t, os.WriteFile(path, []byte(text), mode))
		return Config{Name: "test", Path: path}
	}
	encrypted := says("1|1|unix|/x|grpc\n")
	encrypted.Plaintext = false
	impatient := as("silent")
	impatient.StartTimeout = 200 * time.Millisecond
	summed := as("plugin")
	summed.SHA256 = make([]byte, 32)
	long := "x" + strings.Repeat("y", 100<<10)
	// A program for a processor that no machine has (ELF e_machine 0xfeed).
	alien := "\x7fELF\x02\x01\x01" + strings.Repeat("\x00", 9) + "\x02\x00\xed\xfe\x01\x00\x00\x00" + strings.Repeat("\x00", 100)

	for name, c := range map[string]struct {
		cfg  Config
		is   error
		says string
	}{
		"missing":       {Config{Name: "test", Path: "/nonexistent/x"}, os.ErrNotExist, "plugin test (/nonexistent/x)"},
		"folder":        {Config{Name: "test", Path: t.TempDir()}, ErrNotExecutable, "no permission"},
		"mode":          {file("#!/bin/sh\n", 0o600), ErrNotExecutable, "chmod +x "},
		"text":          {file("hello", 0o700), ErrNotExecutable, "neither a binary"},
		"interpreter":   {file("#!/nonexistent/sh\n", 0o700), ErrNotExecutable, "interpreter"},
		"architecture":  {file(alien, 0o700), ErrNotExecutable, "this machine is"},
		"says and ends": {ends("ends=hello\n"), ErrNotAPlugin, `it says "hello" instead of where it serves; its last words: what is this?`},
		"ends":          {ends("ends="), ErrNotAPlugin, "exit status 3; its last words: what is this?"},
		"crashes":       {ends("crashes"), ErrNotAPlugin, "it ended at its start: exit status 2; its last words: panic: after the handshake"},
		"panics":        {ends("panics"), ErrNotAPlugin, "exit status 2; its last words: panic: at once"},
		"says":          {says("hello\n"), ErrNotAPlugin, `it says "hello"`},
		"says much":     {says(long), ErrNotAPlugin, `it says "xyyy`},
		"silent":        {impatient, ErrNotAPlugin, "did not answer within 200ms"},
		"number":        {says("a|b|c|d|e|f\n"), ErrNotAPlugin, `it says "a|b|c|d|e|f"`},
		"version":       {says("1|2|unix|/x|grpc\n"), ErrProtocolVersion, "it speaks version 2, this program version 1"},
		"core version":  {says("2|1|unix|/x|grpc\n"), ErrProtocolVersion, "its go-plugin speaks version 2, this program's version 1"},
		"protocol":      {says("1|1|unix|/x|netrpc\n"), ErrNotAPlugin, `it speaks "netrpc"`},
		"network":       {says("1|1|udp|127.0.0.1:1|grpc\n"), ErrNotAPlugin, "neither a Unix socket"},
		"far away":      {says("1|1|tcp|192.0.2.1:1|grpc\n"), ErrNotAPlugin, "neither a Unix socket"},
		"nobody there":  {says("1|1|unix|/nonexistent|grpc\n"), ErrNotAPlugin, "/nonexistent"},
		"certificate":   {says("1|1|unix|/nonexistent|grpc|" + strings.Repeat("A", 500) + "\n"), ErrNotAPlugin, "/nonexistent"},
		"plain":         {encrypted, ErrPlaintext, "load it with Plaintext"},
		"checksum":      {summed, ErrChecksum, "sha256sum "},
	} {
		t.Run(name, func(t *testing.T) {
			dir := shortTemp(t)
			_, err := Start(t.Context(), c.cfg)
			require.ErrorIs(t, err, c.is)
			assert.ErrorContains(t, err, c.says)
			assert.ErrorContains(t, err, "plugin test (")
			assert.NotContains(t, err.Error(), "\n")
			assert.Empty(t, files(t, dir))
			assert.Less(t, len(err.Error()), 1000)
		})
	}
}

// TestRightChecksum is of the file that runs.
func TestRightChecksum(t *testing.T) {
	cfg := as("plugin")
	b, err := os.ReadFile(cfg.Path)
	require.NoError(t, err)
	sum := sha256.Sum256(b)
	cfg.SHA256 = sum[:]
	begin(t, cfg)
}

// TestGivenUp: the end of the context ends a start.
func TestGivenUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Start(ctx, func() Config { cancel(); return as("plugin") }())
	assert.ErrorIs(t, err, context.Canceled)

	ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = Start(ctx, as("silent"))
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	assert.NotErrorIs(t, err, ErrNotAPlugin)
}

// TestByHand: a user who starts a plugin gets an explanation.
func TestByHand(t *testing.T) {
	cfg := as("plugin")
	cmd := exec.Command(cfg.Path)
	cmd.Env = append(cfg.Env, "GOCOVERDIR="+t.TempDir()) // otherwise go test -cover complains
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	assert.EqualError(t, err, "exit status 1")
	assert.Empty(t, out)
	assert.Contains(t, stderr.String(), "this is a plugin")
	assert.Contains(t, stderr.String(), "bmi plugins check "+cfg.Path)
	assert.Equal(t, 1, strings.Count(stderr.String(), "\n"))
}

// FuzzHandshake: no first line does harm, and an accepted line is passed on unchanged.
func FuzzHandshake(f *testing.F) {
	f.Add("1|1|unix|/x|grpc", true)
	f.Add("1|1|tcp|127.0.0.1:80|grpc|"+strings.Repeat("A", 60), false)
	f.Fuzz(func(t *testing.T, line string, plaintext bool) {
		got, err := checkHandshake(line, plaintext)
		if err != nil {
			require.Empty(t, got)
			return
		}
		require.True(t, strings.HasPrefix(strings.TrimSpace(line), got))
		again, err := checkHandshake(got, plaintext)
		require.NoError(t, err)
		require.Equal(t, got, again)
	})
}

// FuzzLogLine: no line of output does harm.
func FuzzLogLine(f *testing.F) {
	f.Add([]byte(`{"@message":"m","@level":"warn","@timestamp":"x","k":[1,{"a":null}]}`))
	f.Add([]byte("[ERROR] x"))
	f.Add([]byte("panic: x"))
	f.Fuzz(func(t *testing.T, line []byte) {
		var text strings.Builder
		l := lineLog{log: textLog(&text)}
		l.line(line)
		require.LessOrEqual(t, strings.Count(text.String(), "\n"), 1)
	})
}
