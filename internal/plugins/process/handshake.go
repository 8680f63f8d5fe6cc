//go:build linux

package process

import (
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/hashicorp/go-plugin"
)

// ProtocolVersion is the version of the plugin protocol in this package.
const ProtocolVersion = 1

const (
	// CookieKey is an environment variable with the value CookieValue. A process without it was not
	// started as a plugin. It is not a secret.
	CookieKey   = "BMI_METHOD_PLUGIN"
	CookieValue = "3f0c7f5e9d4b4c0e8a6d51c2f7b89e14"

	// SocketKey is an environment variable with the number of the descriptor over which others are
	// passed. When the program ends, that descriptor reports end of file.
	SocketKey = "BMI_PLUGIN_SOCKET"
	socketFD  = 3

	setName = "method" // of our service in go-plugin's plugin set

	// A line with the certificate takes less than 2 KiB.
	handshakeBytesMax = 16 << 10
	// Longer texts of a file are cut in an error.
	quoteBytesMax = 200
	// go-plugin takes a shorter certificate for a placeholder of an old version.
	certBytesMin = 51
)

func handshake() plugin.HandshakeConfig {
	return plugin.HandshakeConfig{ProtocolVersion: ProtocolVersion, MagicCookieKey: CookieKey, MagicCookieValue: CookieValue}
}

// checkHandshake checks a plugin's first line,
//
//	core version | protocol version | network | address | "grpc" | certificate
//
// and returns it in the form for go-plugin.
func checkHandshake(line string, plaintext bool) (string, error) {
	line = strings.TrimSpace(line)
	part := strings.Split(line, "|")
	if len(part) < 5 {
		return "", fmt.Errorf("%w: it says %s instead of where it serves", ErrNotAPlugin, quote(line))
	}
	core, err1 := strconv.Atoi(part[0])
	version, err2 := strconv.Atoi(part[1])
	switch {
	case err1 != nil || err2 != nil:
		return "", fmt.Errorf("%w: it says %s instead of where it serves", ErrNotAPlugin, quote(line))
	case core != plugin.CoreProtocolVersion:
		return "", fmt.Errorf("%w: its go-plugin speaks version %d, this program's version %d: get a plugin built for this program", ErrProtocolVersion, core, plugin.CoreProtocolVersion)
	case version != ProtocolVersion:
		return "", fmt.Errorf("%w: it speaks version %d, this program version %d: get a plugin built for this program", ErrProtocolVersion, version, ProtocolVersion)
	case part[4] != string(plugin.ProtocolGRPC):
		return "", fmt.Errorf("%w: it speaks %s instead of grpc", ErrNotAPlugin, quote(part[4]))
	}
	if err := checkAddress(part[2], part[3]); err != nil {
		return "", err
	}
	if plaintext {
		return strings.Join(part[:5], "|"), nil
	}
	if len(part) < 6 || len(part[5]) < certBytesMin {
		return "", fmt.Errorf("%w: it has no certificate for mutual TLS; if that is intended, load it with Plaintext", ErrPlaintext)
	}
	return strings.Join(part[:6], "|"), nil
}

// checkAddress returns an error unless the plugin serves on this machine.
func checkAddress(network, address string) error {
	switch network {
	case "unix":
		if filepath.IsAbs(address) {
			return nil
		}
	case "tcp":
		host, _, err := net.SplitHostPort(address)
		if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsLoopback() {
			return nil
		}
	}
	return fmt.Errorf("%w: it serves on %s, neither a Unix socket nor a port of 127.0.0.1", ErrNotAPlugin, quote(network+" "+address))
}

// quote makes a text safe to show.
func quote(s string) string {
	if len(s) > quoteBytesMax {
		return strconv.Quote(s[:quoteBytesMax]) + "..."
	}
	return strconv.Quote(s)
}
