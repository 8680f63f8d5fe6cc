package ldapusers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-ldap/ldap/v3"

	"github.com/viaduct-hpc/viaduct/internal/keyfile"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
	"github.com/viaduct-hpc/viaduct/pvfs/usercert"
)

// Errors of a Directory. Any other error means that the directory could not be asked.
var (
	ErrNobody    = errors.New("ldapusers: the directory has no such user")
	ErrAmbiguous = errors.New("ldapusers: the directory has several such users")
	ErrEntry     = errors.New("ldapusers: the entry of the user has no usable IDs")
	ErrPassword  = errors.New("ldapusers: the directory does not accept the password")
)

const (
	passwordBytesMax = 1024
	// foundMax is how many entries a search asks for. Two entries mean that the user is ambiguous.
	foundMax = 2
	// nobodyID is not the ID of a user or group.
	nobodyID = 0xffffffff
)

// Directory is an LDAP directory. Its methods may be called by any goroutine.
type Directory struct {
	cfg      config.LDAP
	password string

	mu   sync.Mutex
	conn *ldap.Conn // for searches; nil: not connected
}

// New makes the directory of a configuration. It connects at the first question. The error is about the file with the password.
func New(cfg config.LDAP) (*Directory, error) {
	d := &Directory{cfg: cfg}
	if len(cfg.Hosts) == 0 {
		return nil, errors.New("ldapusers: <LDAP> has no Hosts: name the directory, as ldaps://ldap.example.org")
	}
	if cfg.BindPassword != "" {
		text, err := keyfile.Secret(cfg.BindPassword, passwordBytesMax)
		if err != nil {
			return nil, fmt.Errorf("BindPassword: %w", err)
		}
		d.password, _, _ = strings.Cut(string(text), "\n")
		if d.password == "" {
			return nil, fmt.Errorf("BindPassword: %s is empty", cfg.BindPassword)
		}
	}
	if d.cfg.BindDN != "" && d.password == "" {
		return nil, errors.New("ldapusers: BindDN needs BindPassword file:PATH")
	}
	return d, nil
}

// Plain lists the hosts to which passwords would be sent unencrypted over a network.
func (d *Directory) Plain() (hosts []string) {
	for _, host := range d.cfg.Hosts {
		rest, ok := strings.CutPrefix(host, "ldap://")
		if !ok {
			continue
		}
		name, _, _ := strings.Cut(rest, "/")
		if h, _, err := net.SplitHostPort(name); err == nil {
			name = h
		}
		if ip := net.ParseIP(strings.Trim(name, "[]")); name != "localhost" && (ip == nil || !ip.IsLoopback()) {
			hosts = append(hosts, host)
		}
	}
	return hosts
}

// Find returns the user ID and the group ID of the user of a certificate.
func (d *Directory) Find(ctx context.Context, s usercert.Subject) (uid uint32, groups []uint32, err error) {
	search := d.byName(s.CommonName)
	if d.cfg.ByDN {
		search = ldap.NewSearchRequest(s.DN, ldap.ScopeBaseObject, ldap.NeverDerefAliases, foundMax, d.seconds(), false,
			"(objectClass=*)", nil, nil)
	}
	search.Attributes = []string{d.cfg.UIDAttr, d.cfg.GIDAttr}
	entry, err := d.search(ctx, search)
	if err != nil {
		return 0, nil, err
	}
	if uid, err = number(entry, d.cfg.UIDAttr); err != nil {
		return 0, nil, err
	}
	gid, err := number(entry, d.cfg.GIDAttr)
	return uid, []uint32{gid}, err
}

// number parses the only value of an attribute.
func number(e *ldap.Entry, attr string) (uint32, error) {
	values := e.GetEqualFoldAttributeValues(attr)
	if len(values) != 1 {
		return 0, fmt.Errorf("%w: %s has %d values of %s, want 1", ErrEntry, e.DN, len(values), attr)
	}
	n, err := strconv.ParseUint(values[0], 10, 32)
	if err != nil || n == nobodyID {
		return 0, fmt.Errorf("%w: %s has %s %q", ErrEntry, e.DN, attr, values[0])
	}
	return uint32(n), nil
}

// Authenticate checks the password of a user.
func (d *Directory) Authenticate(ctx context.Context, name, password string) error {
	if name == "" || password == "" { // a directory accepts a bind without a password as anonymous
		return ErrPassword
	}
	search := d.byName(name)
	search.Attributes = []string{"1.1"} // none
	entry, err := d.search(ctx, search)
	if err != nil {
		return err
	}
	conn, err := d.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close() // nothing more is sent
	switch err := conn.Bind(entry.DN, password); {
	case err == nil:
		return nil
	case ldap.IsErrorWithCode(err, ldap.LDAPResultInvalidCredentials):
		return ErrPassword
	default:
		return fmt.Errorf("ldapusers: log in as %s: %w", entry.DN, err)
	}
}

// byName is the search for a user by the common name of its certificate.
func (d *Directory) byName(name string) *ldap.SearchRequest {
	scope := ldap.ScopeWholeSubtree
	if d.cfg.OneLevel {
		scope = ldap.ScopeSingleLevel
	}
	filter := fmt.Sprintf("(&(objectClass=%s)(%s=%s))", ldap.EscapeFilter(d.cfg.Class), d.cfg.Attr, ldap.EscapeFilter(name))
	return ldap.NewSearchRequest(d.cfg.Root, scope, ldap.NeverDerefAliases, foundMax, d.seconds(), false, filter, nil, nil)
}

func (d *Directory) seconds() int { return int(d.cfg.Timeout / time.Second) }

// search finds one entry. If the connection is broken, it connects again, once.
func (d *Directory) search(ctx context.Context, request *ldap.SearchRequest) (*ldap.Entry, error) {
	for try := 0; ; try++ {
		conn, fresh, err := d.open(ctx)
		if err != nil {
			return nil, err
		}
		found, err := conn.Search(request)
		switch {
		case ldap.IsErrorWithCode(err, ldap.LDAPResultNoSuchObject):
			return nil, ErrNobody
		case ldap.IsErrorWithCode(err, ldap.LDAPResultSizeLimitExceeded):
			return nil, ErrAmbiguous
		case err != nil:
			d.drop(conn)
			if fresh || try > 0 {
				return nil, fmt.Errorf("ldapusers: search the directory: %w", err)
			}
			continue
		case len(found.Entries) == 0:
			return nil, ErrNobody
		case len(found.Entries) > 1:
			return nil, ErrAmbiguous
		}
		return found.Entries[0], nil
	}
}

// open returns the connection for searches. fresh: it is new.
func (d *Directory) open(ctx context.Context) (conn *ldap.Conn, fresh bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.conn != nil && !d.conn.IsClosing() {
		return d.conn, false, nil
	}
	d.conn = nil
	if conn, err = d.dial(ctx); err != nil {
		return nil, false, err
	}
	if d.cfg.BindDN != "" {
		if err := conn.Bind(d.cfg.BindDN, d.password); err != nil {
			_ = conn.Close()
			return nil, false, fmt.Errorf("ldapusers: log in as BindDN %s: %w", d.cfg.BindDN, err)
		}
	}
	d.conn = conn
	return conn, true, nil
}

// dial connects to the first host that answers.
func (d *Directory) dial(ctx context.Context) (*ldap.Conn, error) {
	var all []error
	for _, host := range d.cfg.Hosts {
		if err := ctx.Err(); err != nil {
			return nil, errors.Join(append(all, err)...)
		}
		conn, err := ldap.DialURL(host, ldap.DialWithDialer(&net.Dialer{Timeout: d.cfg.Timeout}))
		if err == nil {
			conn.SetTimeout(d.cfg.Timeout)
			return conn, nil
		}
		all = append(all, fmt.Errorf("ldapusers: connect to %s: %w", host, err))
	}
	return nil, errors.Join(all...)
}

// drop closes a broken connection.
func (d *Directory) drop(conn *ldap.Conn) {
	d.mu.Lock()
	if d.conn == conn {
		d.conn = nil
	}
	d.mu.Unlock()
	_ = conn.Close() // it has failed already
}

// Close ends the connection.
func (d *Directory) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.conn == nil {
		return nil
	}
	conn := d.conn
	d.conn = nil
	return conn.Close()
}
