package server

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/ldapusers"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/rights"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
	"github.com/viaduct-hpc/viaduct/pvfs/credential"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
	"github.com/viaduct-hpc/viaduct/pvfs/usercert"
)

// A Directory finds users and checks their passwords. The errors of ldapusers such as ErrNobody say that it does not have the
// user. Any other error says that the directory does not answer.
type Directory interface {
	Find(ctx context.Context, s usercert.Subject) (uid uint32, groups []uint32, err error)
	Authenticate(ctx context.Context, name, password string) error
}

const (
	// certUsersMax is how many users are remembered. There may be up to twice as many.
	certUsersMax = 4096
	// nobodyTime is how long a failed search is remembered: the directory does not have the user, or does not answer.
	nobodyTime = 5 * time.Second
	// directoryPlaces limits the searches in the directory at one time. directoryWait is how long a request waits for the answer;
	// while it waits, it occupies a worker.
	directoryPlaces = 2
	directoryWait   = 5 * time.Second
)

// Errors of certify.
var (
	errNoUser    = errors.New("neither the directory nor --identities has a user for this certificate")
	errDirectory = errors.New("the directory of users does not answer")
)

// certUsers finds the users of certificates, and caches them.
type certUsers struct {
	authority *usercert.Authority
	directory Directory // nil: Identities name all users
	remember  time.Duration
	prefix    pkix.RDNSequence // of the subjects of new certificates
	valid     time.Duration    // of new certificates

	checker  credential.Checker
	searches singleflight.Group
	places   chan struct{} // for searches
	logins   chan struct{} // for passwords; a separate limit, so that strangers cannot delay the searches
	guesses  guesses

	mu         sync.Mutex
	young, old map[certID]certUser // two generations, as in package credential
}

// A certID is the digest of a certificate.
type certID [sha256.Size]byte

// certUser is the cached user of a certificate.
type certUser struct {
	*usercert.User
	until time.Time // how long who and err are valid
	who   rights.Identity
	err   error // why there is no identity
}

// loadCertificates reads the settings for users' certificates from the configuration. nil: there are none.
func (s *Server) loadCertificates(fs *config.Config, ids *credential.Identities) (*certUsers, error) {
	sec := &fs.Security
	if sec.CAFile == "" {
		return nil, nil
	}
	authority, err := usercert.ReadAuthority(sec.CAFile, sec.ServerKey)
	if err != nil {
		return nil, fmt.Errorf("%w: CAFile and ServerKey: %w", ErrConfig, err)
	}
	u := &certUsers{
		authority: authority, directory: s.cfg.Directory, remember: sec.CertificateTimeout,
		valid: time.Duration(cmp.Or(sec.UserCertDays, 1)) * 24 * time.Hour, places: make(chan struct{}, directoryPlaces), logins: make(chan struct{}, 1),
		guesses: guesses{clock: s.clock},
	}
	if u.prefix, err = usercert.ParseDN(sec.UserCertDN); err != nil {
		return nil, fmt.Errorf("%w: UserCertDN: %w", ErrConfig, err)
	}
	if u.directory == nil && len(sec.LDAP.Hosts) > 0 {
		ldap, err := ldapusers.New(sec.LDAP)
		if err != nil {
			return nil, fmt.Errorf("%w: <LDAP>: %w", ErrConfig, err)
		}
		if hosts := ldap.Plain(); len(hosts) > 0 {
			s.log.Warn("passwords go to the directory unencrypted: name it with ldaps", "Hosts", strings.Join(hosts, " "))
		}
		u.directory = ldap
	}
	if u.directory == nil && ids == nil {
		return nil, fmt.Errorf("%w: it has CAFile, but nothing that says which user a certificate belongs to: add Hosts in <LDAP>, or give --identities", ErrConfig)
	}
	return u, nil
}

// close ends the connection to the directory.
func (u *certUsers) close() {
	if u == nil {
		return
	}
	if c, ok := u.directory.(io.Closer); ok {
		_ = c.Close() // no request waits for anything on it
	}
}

// certify finds the user of a credential with a certificate. It leaves the credential unchanged: if the request is forwarded, the
// next server verifies it too. EPERM: there is no such user. EAGAIN: the user cannot be found at the moment.
func (s *Server) certify(q *query, c *proto.Credential, from string) error {
	name, who, err := q.rules.certs.identify(q.ctx, c, q.rules.identities, s.clock())
	switch {
	case errors.Is(err, errDirectory):
		_ = s.refused(err, from, "user", name)
		return proto.EAGAIN
	case err != nil:
		return s.refused(err, from, "issuer", c.Issuer, "user", name)
	}
	q.Who, q.certified = who, true
	return nil
}

// identify verifies a credential with its certificate, and finds its user.
func (u *certUsers) identify(ctx context.Context, c *proto.Credential, ids *credential.Identities, now time.Time) (name string, who rights.Identity, err error) {
	id := certID(sha256.Sum256(c.Certificate))
	known := u.get(id)
	if known.User == nil || now.After(known.NotAfter) || now.After(u.authority.NotAfter()) {
		if known.User, err = u.authority.Verify(c.Certificate, now); err != nil {
			return "", who, err
		}
	}
	name = known.Subject.CommonName
	if err := u.checker.Verify(known.Key, id, c); err != nil {
		return name, who, err
	}
	switch {
	case known.Authority:
		return "the authority", rights.Identity{Groups: []uint32{0}}, nil
	case ids != nil && (u.directory == nil || ids.Names(name)):
		uid, groups, ok := ids.User(name, u.directory == nil)
		if !ok {
			return name, who, errNoUser
		}
		return name, rights.Identity{UID: uid, Groups: slices.Clone(groups)}, nil
	case now.Before(known.until):
		return name, known.who, known.err
	}
	known = u.find(ctx, id, known, now)
	return name, known.who, known.err
}

// find asks the directory for a user. Requests with the same certificate share one search. A request waits for directoryWait at
// most; the search goes on, and its result is cached.
func (u *certUsers) find(ctx context.Context, id certID, known certUser, now time.Time) certUser {
	answer := u.searches.DoChan(string(id[:]), func() (any, error) {
		known := known
		select {
		case u.places <- struct{}{}:
			defer func() { <-u.places }()
		default:
			known.err = fmt.Errorf("%w: too many requests wait for it", errDirectory)
			return known, nil
		}
		uid, groups, err := u.directory.Find(context.WithoutCancel(ctx), known.Subject)
		known.who, known.err, known.until = rights.Identity{UID: uid, Groups: groups}, nil, now.Add(u.remember)
		if err == nil && len(groups) == 0 {
			err = ldapusers.ErrEntry
		}
		if err != nil {
			known.who, known.until = rights.Identity{}, now.Add(nobodyTime)
			known.err = fmt.Errorf("%w: %w", errDirectory, err)
			if lacks(err) {
				known.err = fmt.Errorf("%w: %w", errNoUser, err)
			}
		}
		u.put(id, known)
		return known, nil
	})
	timer := time.NewTimer(directoryWait)
	defer timer.Stop()
	select {
	case found := <-answer:
		return found.Val.(certUser)
	case <-timer.C:
	case <-ctx.Done():
	}
	known.err = fmt.Errorf("%w: it takes too long", errDirectory)
	return known
}

// lacks reports whether an error of the directory says that it does not have a user.
func lacks(err error) bool {
	return errors.Is(err, ldapusers.ErrNobody) || errors.Is(err, ldapusers.ErrAmbiguous) || errors.Is(err, ldapusers.ErrEntry)
}

func (u *certUsers) get(id certID) certUser {
	u.mu.Lock()
	defer u.mu.Unlock()
	if known, ok := u.young[id]; ok {
		return known
	}
	known, ok := u.old[id]
	if ok {
		u.putLocked(id, known)
	}
	return known
}

func (u *certUsers) put(id certID, known certUser) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.putLocked(id, known)
}

func (u *certUsers) putLocked(id certID, known certUser) {
	if u.young == nil || len(u.young) >= certUsersMax {
		u.young, u.old = make(map[certID]certUser), u.young
	}
	u.young[id] = known
}
