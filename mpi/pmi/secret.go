package pmi

import (
	"encoding/hex"
	"io"
	"os"
	"strings"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// SecretBytes is the length of a job's secret key.
const SecretBytes = 32

// secretOf finds the key of the job; nil if there is none. Nothing of it is ever printed.
func secretOf(getenv func(string) string) ([]byte, error) {
	text, name := getenv(KeyEnv), getenv(KeyFileEnv)
	switch {
	case text != "":
		return decodeSecret(KeyEnv, text)
	case name != "":
		text, err := readSecret(name)
		if err != nil {
			return nil, err
		}
		return decodeSecret(KeyFileEnv, text)
	}
	return nil, nil
}

func decodeSecret(where, text string) ([]byte, error) {
	secret, err := hex.DecodeString(strings.TrimSpace(text))
	if err != nil || len(secret) != SecretBytes {
		return nil, errclass.New(errclass.Other, "the key of the job in %s is not %d hexadecimal digits", where, 2*SecretBytes)
	}
	return secret, nil
}

func readSecret(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", errclass.Wrap(errclass.Other, err, "%s cannot be read", KeyFileEnv)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	switch {
	case err != nil:
		return "", errclass.Wrap(errclass.Other, err, "%s cannot be read", KeyFileEnv)
	case !info.Mode().IsRegular():
		return "", errclass.New(errclass.Other, "%s=%s is not a regular file", KeyFileEnv, name)
	case info.Mode().Perm()&0o077 != 0:
		return "", errclass.New(errclass.Other, "%s=%s can be used by others (mode %#o): chmod 600 it", KeyFileEnv, name, info.Mode().Perm())
	}
	text, err := io.ReadAll(io.LimitReader(f, 4*SecretBytes))
	if err != nil {
		return "", errclass.Wrap(errclass.Other, err, "%s cannot be read", KeyFileEnv)
	}
	return string(text), nil
}
