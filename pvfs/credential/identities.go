package credential

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/viaduct-hpc/viaduct/internal/keyfile"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// ErrUser: the client is not allowed to act for the user in the credential.
var ErrUser = errors.New("the client may not act for this user")

// Identities say for which users each authenticated client may act.
type Identities struct {
	clients map[string][]scope
}

// A scope is a set of users.
type scope struct {
	every  bool // all users
	root   bool // if every: root is included
	user   uint32
	groups []uint32 // that the user may have
}

// userPrefix begins the names of users of the server's machine.
const userPrefix = "uid:"

// everyClient stands for clients that the file does not name.
const everyClient = "*"

// ReadIdentities reads a file of lines with a client's name and the users that it may act for. The name is that in a keystore
// without C:, or the common name of a certificate, or uid:N for a user of the server's machine. * is every authenticated client
// without a line of its own, but no uid:N. The users are "any", "users" (all but root), or a user and its groups in numbers,
// UID:GID,GID. Several lines of one client add up; # begins a comment. ErrFile: the file has something else in it, or others can
// write it.
func ReadIdentities(name string) (*Identities, error) {
	text, err := keyfile.Trusted(name, fileBytesMax)
	if err != nil {
		return nil, fileError(err)
	}
	ids, err := ParseIdentities(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return ids, nil
}

// ParseIdentities is ReadIdentities for a text.
func ParseIdentities(text []byte) (*Identities, error) {
	ids := &Identities{clients: make(map[string][]scope)}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		line, _, _ := strings.Cut(lines.Text(), "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if len(words) != 2 {
			return nil, fmt.Errorf("%w: line %d: want a client and its users, as: node1 users", ErrFile, n)
		}
		s, err := parseScope(words[1])
		if err != nil {
			return nil, fmt.Errorf("%w: line %d: %w", ErrFile, n, err)
		}
		ids.clients[words[0]] = append(ids.clients[words[0]], s)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFile, err)
	}
	return ids, nil
}

func parseScope(text string) (scope, error) {
	switch text {
	case "any":
		return scope{every: true, root: true}, nil
	case "users":
		return scope{every: true}, nil
	}
	user, groups, ok := strings.Cut(text, ":")
	ids := []string{user}
	if ok {
		ids = append(ids, strings.Split(groups, ",")...)
	}
	var numbers []uint32
	for _, id := range ids {
		n, err := strconv.ParseUint(id, 10, 32)
		if err != nil {
			ok = false
		}
		numbers = append(numbers, uint32(n))
	}
	if !ok {
		return scope{}, fmt.Errorf("%q is not any, users or UID:GID,GID in numbers", text)
	}
	return scope{user: numbers[0], groups: numbers[1:]}, nil
}

// has reports whether a credential is for a user of the scope. A user with group 0 counts as root.
func (s *scope) has(c *proto.Credential) bool {
	if s.every {
		return s.root || c.User != 0 && !slices.Contains(c.Groups, 0)
	}
	return c.User == s.user && !slices.ContainsFunc(c.Groups, func(g uint32) bool { return !slices.Contains(s.groups, g) })
}

// Names reports whether a client has a line of its own.
func (ids *Identities) Names(client string) bool {
	_, ok := ids.clients[client]
	return ok
}

// Allow checks that an authenticated client may act for the user of a credential. ErrUser.
func (ids *Identities) Allow(client string, c *proto.Credential) error {
	if client == "" || client == everyClient {
		return ErrUser
	}
	scopes, ok := ids.clients[client]
	if !ok && !strings.HasPrefix(client, userPrefix) {
		scopes = ids.clients[everyClient]
	}
	for i := range scopes {
		if scopes[i].has(c) {
			return nil
		}
	}
	return ErrUser
}

// ChangedFor returns the users for whom some client may act by one of two files and not by the other. everybody: they cannot be
// listed. Either may be nil, by which every client may act for everybody.
func ChangedFor(was, is *Identities) (users []uint32, everybody bool) {
	if was == nil || is == nil {
		return nil, was != is
	}
	for _, pair := range [][2]*Identities{{was, is}, {is, was}} {
		for client, scopes := range pair[0].clients {
			others := pair[1].clients[client]
			for _, s := range scopes {
				switch {
				case slices.ContainsFunc(others, s.equal):
				case s.every:
					return nil, true
				default:
					users = append(users, s.user)
				}
			}
		}
	}
	slices.Sort(users)
	return slices.Compact(users), false
}

func (s scope) equal(is scope) bool {
	return s.every == is.every && s.root == is.root && s.user == is.user && slices.Equal(s.groups, is.groups)
}

// User returns the user and the groups on a line with a UID that the file has for a client. This is the user of a certificate
// that does not name one. Lines for several users do not count. others: the lines of * count as well.
func (ids *Identities) User(client string, others bool) (uid uint32, groups []uint32, ok bool) {
	if client == "" || client == everyClient || strings.HasPrefix(client, userPrefix) { // a certificate must not stand for a user of this machine
		return 0, nil, false
	}
	scopes, known := ids.clients[client]
	if !known && others {
		scopes = ids.clients[everyClient]
	}
	for i := range scopes {
		if !scopes[i].every {
			return scopes[i].user, scopes[i].groups, true
		}
	}
	return 0, nil, false
}

// Client is the name of the issuer of a credential, without C:.
func Client(c *proto.Credential) string { return strings.TrimPrefix(c.Issuer, clientPrefix) }
