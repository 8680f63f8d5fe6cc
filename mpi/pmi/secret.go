package pmi

import (
	"encoding/hex"
	"strings"

	"github.com/viaduct-hpc/viaduct/internal/keyfile"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// SecretBytes is the length of a job's secret key.
const SecretBytes = 32

// secretFileBytesMax is the largest size of a file with the key: its digits, and white space.
const secretFileBytesMax = 4 * SecretBytes

// secretOf returns the key of the job, or nil. It is never printed.
func secretOf(getenv func(string) string) ([]byte, error) {
	text, name := getenv(KeyEnv), getenv(KeyFileEnv)
	switch {
	case text != "":
		return decodeSecret(KeyEnv, text)
	case name != "":
		text, err := keyfile.Secret(name, secretFileBytesMax)
		if err != nil {
			return nil, errclass.Wrap(errclass.Other, err, "%s cannot be read", KeyFileEnv)
		}
		return decodeSecret(KeyFileEnv, string(text))
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
