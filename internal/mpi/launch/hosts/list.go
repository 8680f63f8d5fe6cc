package hosts

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/viaduct-hpc/viaduct/internal/hostlist"
)

// A Host is a machine with the number of processes that it should get.
type Host struct {
	Name  string
	Slots int // ≥ 1
}

// Limits of a list.
const (
	HostsMax = hostlist.NamesMax
	SlotsMax = 1 << 20
	nameMax  = 255 // bytes
)

// ErrList marks a list of hosts that makes no sense.
var ErrList = errors.New("bad list of hosts")

func bad(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrList}, args...)...)
}

// checkName returns an error unless text can be a host's name or USER@HOST. An address of IPv6 stands in
// brackets. A name that begins with a dash would be an option of ssh.
func checkName(text string) error {
	host, others := text, ""
	if i := strings.LastIndexByte(text, '@'); i >= 0 {
		others, host = text[:i], text[i+1:]
	}
	allowed := "-._"
	if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		host, allowed = host[1:len(host)-1], ":.%"
	}
	ok := host != "" && len(text) <= nameMax && text[0] != '-' && plain(host, allowed) && plain(others, "-._")
	if !ok {
		return bad("%.60q is no name of a host", text)
	}
	return nil
}

// plain tells whether a text has letters, digits and allowed characters only.
func plain(text, allowed string) bool {
	for i := range len(text) {
		c := text[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && strings.IndexByte(allowed, c) < 0 {
			return false
		}
	}
	return true
}

func slots(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > SlotsMax {
		return 0, bad("%.60q is no number of processes from 1 to %d", text, SlotsMax)
	}
	return n, nil
}

// A list collects hosts. A host that is named again gets more slots.
type list struct {
	hosts []Host
	index map[string]int
}

func (l *list) add(h Host) error {
	if i, there := l.index[h.Name]; there {
		if l.hosts[i].Slots += h.Slots; l.hosts[i].Slots > SlotsMax {
			return bad("%s gets more than %d processes", h.Name, SlotsMax)
		}
		return nil
	}
	if len(l.hosts) == HostsMax {
		return bad("more than %d hosts", HostsMax)
	}
	if l.index == nil {
		l.index = map[string]int{}
	}
	l.index[h.Name] = len(l.hosts)
	l.hosts = append(l.hosts, h)
	return nil
}

// result returns the hosts, or an error if there are none.
func (l *list) result() ([]Host, error) {
	if len(l.hosts) == 0 {
		return nil, bad("it names none")
	}
	return l.hosts, nil
}

// Parse parses hosts on a command line: a,b:4 or node[01-16]:2.
func Parse(text string) ([]Host, error) {
	words, err := hostlist.Split(text)
	if err != nil {
		return nil, bad("%w", err)
	}
	var l list
	for _, word := range words {
		names, n, err := withSlots(word)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if err := l.add(Host{name, n}); err != nil {
				return nil, err
			}
		}
	}
	return l.result()
}

// withSlots parses NAMES or NAMES:SLOTS, where NAMES may have ranges in brackets. An address of IPv6
// stands in brackets.
func withSlots(word string) (names []string, n int, err error) {
	n = 1
	if i := strings.LastIndexByte(word, ':'); i > strings.LastIndexByte(word, ']') {
		if n, err = slots(word[i+1:]); err != nil {
			return nil, 0, err
		}
		word = word[:i]
	}
	names, err = expand(word)
	return names, n, err
}

// expand returns the names of hosts in a list with ranges.
func expand(text string) ([]string, error) {
	names, err := hostlist.Expand(text)
	if err != nil {
		return nil, bad("%w", err)
	}
	for _, name := range names {
		if err := checkName(name); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// ParseFile parses a file of hosts, one a line: NAME, NAME:4, "NAME 4" or "NAME slots=4", as other
// launchers have them. # begins a comment, and further words of a line are for other launchers.
func ParseFile(text string) ([]Host, error) {
	var l list
	number := 0
	for line := range strings.Lines(text) {
		number++
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		names, n, err := withSlots(words[0])
		for i, word := range words[1:] {
			if err != nil {
				break
			}
			value, ok := strings.CutPrefix(word, "slots=")
			if ok {
				n, err = slots(value)
			} else if digits := strings.Trim(word, "0123456789"); digits == "" && i == 0 {
				n, err = slots(word)
			}
		}
		for _, name := range names {
			if err == nil {
				err = l.add(Host{name, n})
			}
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
	}
	return l.result()
}
