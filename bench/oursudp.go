package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/viaduct-hpc/viaduct/internal/perf"
)

// methodUDP is the method over UDP, which has a variant with a key and one without.
const methodUDP = "via+udp"

// The environment variables with the key of the method over UDP, or with the
// request for none.
const (
	envKeyFile  = "VIADUCT_UDP_KEY_FILE"
	envKey      = "VIADUCT_UDP_KEY"
	envInsecure = "VIADUCT_UDP_INSECURE"
)

// udpRateSizes are the sizes of the messages whose rate over UDP is measured.
var udpRateSizes = []int{rateSize, udpSmallSize}

// insecureUDP is the variant without a key, whatever the environment of the
// comparison says.
func insecureUDP() variant {
	return variant{name: oursUDP, method: methodUDP, env: []string{envKeyFile + "=", envKey + "=", envInsecure + "=1"}, rates: udpRateSizes}
}

// secureUDP is the variant with the key of this comparison.
func secureUDP(cfg config) variant {
	return variant{name: oursUDPSecure, method: methodUDP, env: []string{envKeyFile + "=" + cfg.keyFile, envKey + "=", envInsecure + "="}, rates: udpRateSizes}
}

// udpContender is the limit for UDP.
func udpContender(cfg config) contender {
	return contender{name: bareUDP, run: func(ctx context.Context) ([]perf.Result, error) {
		return perfCommand(ctx, cfg, insecureUDP(), "--tests", "limit", "--sizes", sizeList(latencySizes))
	}}
}

// makeKey writes a new random key into a file that only this user can read, in its
// own temporary folder, which remove removes.
func makeKey() (file string, remove func(), err error) {
	folder, err := os.MkdirTemp("", "viaduct-bench-")
	if err != nil {
		return "", nil, err
	}
	var key [32]byte
	_, _ = rand.Read(key[:]) // never fails
	file = filepath.Join(folder, "key")
	if err := os.WriteFile(file, []byte(base64.StdEncoding.EncodeToString(key[:])+"\n"), 0o600); err != nil {
		_ = os.RemoveAll(folder)
		return "", nil, err
	}
	return file, func() { _ = os.RemoveAll(folder) }, nil
}

// within runs a measurement in the variant's environment, for measurements in which
// this process takes part or starts processes.
func (v variant) within(f func() error) error {
	for _, one := range v.env {
		undo, err := setenv(one)
		if err != nil {
			return err
		}
		defer undo()
	}
	return f()
}

// setenv sets a variable, given as NAME=VALUE, until undo is called.
func setenv(one string) (undo func(), err error) {
	name, value, _ := strings.Cut(one, "=")
	before, was := os.LookupEnv(name)
	if err := os.Setenv(name, value); err != nil {
		return nil, fmt.Errorf("set %s: %w", name, err)
	}
	return func() {
		if was {
			_ = os.Setenv(name, before)
		} else {
			_ = os.Unsetenv(name)
		}
	}, nil
}
