package secure

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/viaduct-hpc/viaduct/internal/names"
)

// Servers are the public keys of the endpoints to which this one connects, by address.
type Servers struct {
	exact    map[string]PublicKey
	patterns []serverPattern // in the order of the file
}

type serverPattern struct {
	text, match string // as written, and in the syntax of path.Match
	key         PublicKey
}

// ParseServers reads lines of an address and a public key. The address is HOST:PORT as given to
// Connect, without via+udp://, with * for any characters, or * alone. An address without * is
// preferred to all others; otherwise the first matching line is used.
func ParseServers(text []byte) (*Servers, error) {
	s := &Servers{exact: make(map[string]PublicKey)}
	err := keyLines(string(text), "an ADDRESS", s.add)
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Servers) add(word string, key PublicKey) error {
	address := strings.ToLower(word)
	if !strings.Contains(address, "*") {
		t, err := names.Parse(address)
		if err == nil && (t.Port == 0 || t.Host == "" || t.IP.IsUnspecified()) {
			err = fmt.Errorf("nobody can connect to it")
		}
		if err != nil {
			return fmt.Errorf("%q: %w; an example is node7:7000 or node7:*", word, err)
		}
		if other, ok := s.exact[t.String()]; ok && other != key {
			return fmt.Errorf("%s has another key in a line before; a server has one", word)
		}
		s.exact[t.String()] = key
		return nil
	}
	if err := checkPattern(address); err != nil {
		return fmt.Errorf("%q: %w", word, err)
	}
	for _, p := range s.patterns {
		if p.text == address && p.key != key {
			return fmt.Errorf("%s has another key in a line before; a server has one", word)
		}
	}
	s.patterns = append(s.patterns, serverPattern{address, strings.ReplaceAll(address, "[", `\[`), key})
	return nil
}

// checkPattern rejects patterns that no address can match.
func checkPattern(pattern string) error {
	for _, c := range []byte(pattern) {
		switch {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', strings.IndexByte("._-:%[]*", c) >= 0:
		default:
			return fmt.Errorf("%q cannot stand in an address", c)
		}
	}
	if pattern == "*" {
		return nil
	}
	port := pattern[strings.LastIndexByte(pattern, ':')+1:]
	if n, err := strconv.ParseUint(port, 10, 16); len(port) == len(pattern) || !strings.Contains(port, "*") && (err != nil || n == 0) {
		return fmt.Errorf("want HOST:PORT, for example node7:* or 10.0.0.*:7000, or * for every server")
	}
	return nil
}

// Key is the key of the server at an address in the form of names.Target.
func (s *Servers) Key(address string) (key PublicKey, ok bool) {
	if s == nil {
		return PublicKey{}, false
	}
	if key, ok = s.exact[address]; ok {
		return key, true
	}
	for _, p := range s.patterns {
		if ok, err := path.Match(p.match, address); err == nil && ok {
			return p.key, true
		}
	}
	return PublicKey{}, false
}
