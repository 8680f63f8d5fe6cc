package vipl

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of a hosts file.
const (
	// HostsBytesMax bounds the file.
	HostsBytesMax = 1 << 20
	// HostsLineMax bounds a line, in bytes.
	HostsLineMax = 4096
)

// Hosts is a name service that reads a file like /etc/hosts. Each line has a provider
// address and one or more names for it, separated by blanks. A word that starts with
// '#' begins a comment:
//
//	# address        name      aliases
//	10.0.0.1:7000    node1     head
//	node2-shm        node2
//
// A name on several lines has several addresses, in that order. HostByAddr returns
// the first name of an address. The case of names does not matter.
type Hosts struct {
	addrs map[string][]string // by lower-case name
	names map[string]string   // by address
	next  NameService
}

// LoadHosts reads a hosts file. Names that are not in it are looked up in next, unless
// that is nil.
func LoadHosts(path string, next NameService) (*Hosts, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("%w: hosts file: %w", ErrNameService, err)
	}
	if info.Size() > HostsBytesMax {
		return nil, fmt.Errorf("%w: hosts file %s has %d bytes, at most %d", ErrNameService, path, info.Size(), HostsBytesMax)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%w: hosts file: %w", ErrNameService, err)
	}
	h, err := ParseHosts(text, next)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return h, nil
}

// ParseHosts is LoadHosts of a text.
func ParseHosts(text []byte, next NameService) (*Hosts, error) {
	if len(text) > HostsBytesMax {
		return nil, fmt.Errorf("%w: hosts file has %d bytes, at most %d", ErrNameService, len(text), HostsBytesMax)
	}
	h := &Hosts{addrs: make(map[string][]string), names: make(map[string]string), next: next}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(make([]byte, 0, HostsLineMax), HostsLineMax)
	for number := 1; lines.Scan(); number++ {
		if err := h.add(lines.Text()); err != nil {
			return nil, fmt.Errorf("%w: hosts file line %d: %w", ErrNameService, number, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%w: hosts file: a line has more than %d bytes: %w", ErrNameService, HostsLineMax, err)
	}
	return h, nil
}

func (h *Hosts) add(line string) error {
	words := strings.Fields(line)
	for i, word := range words {
		if strings.HasPrefix(word, "#") {
			words = words[:i]
			break
		}
		if err := checkWord(word); err != nil {
			return err
		}
	}
	switch len(words) {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("address %q has no name behind it", words[0])
	}
	addr := words[0]
	for _, name := range words[1:] {
		key := strings.ToLower(name)
		h.addrs[key] = append(h.addrs[key], addr)
	}
	if _, ok := h.names[addr]; !ok {
		h.names[addr] = words[1]
	}
	return nil
}

func checkWord(word string) error {
	if !utf8.ValidString(word) {
		return fmt.Errorf("%q is not UTF-8", word)
	}
	for _, r := range word {
		if !unicode.IsPrint(r) {
			return fmt.Errorf("%q holds a character that cannot be printed", word)
		}
	}
	return nil
}

// HostByName returns the addresses of a name.
func (h *Hosts) HostByName(name string) ([]string, error) {
	if addrs, ok := h.addrs[strings.ToLower(name)]; ok {
		return slices.Clone(addrs), nil
	}
	if h.next != nil {
		return h.next.HostByName(name)
	}
	return nil, fmt.Errorf("%w: no line for the name %q in the hosts file", ErrNameService, name)
}

// HostByAddr returns the first name of an address.
func (h *Hosts) HostByAddr(addr string) (string, error) {
	if name, ok := h.names[addr]; ok {
		return name, nil
	}
	if h.next != nil {
		return h.next.HostByAddr(addr)
	}
	return "", fmt.Errorf("%w: no line for the address %q in the hosts file", ErrNameService, addr)
}
