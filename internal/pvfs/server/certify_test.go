package server_test

import (
	"crypto/x509"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/logtext"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/certtest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/ldapusers/ldaptest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/server"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
	"github.com/viaduct-hpc/viaduct/pvfs/credential"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
	"github.com/viaduct-hpc/viaduct/pvfs/usercert"
)

// A certWorld is a file system whose clients use certificates, with its authority and its directory of users.
type certWorld struct {
	*pvfstest.Cluster
	ca    *certtest.CA
	users *ldaptest.Server
	log   logtext.Buffer
	later atomic.Int64 // offset of the servers' clock
}

func certificates(t testing.TB, servers int, change func(*config.GenOptions, *server.Config)) *certWorld {
	t.Helper()
	w := &certWorld{ca: certtest.New(t, "CA"), users: ldaptest.Start(t,
		ldaptest.User("alice", "wonderland", 1000, 100), ldaptest.User("bob", "builder", 1001, 100))}
	gen := func(g *config.GenOptions) {
		g.CAFile, g.ServerKey = w.ca.CertFile, w.ca.KeyFile
		g.LDAP = config.LDAP{Hosts: []string{w.users.URL()}, Root: "ou=Users,dc=example,dc=org"}
		if change != nil {
			change(g, &server.Config{})
		}
	}
	w.Cluster = pvfstest.Start(t, pvfstest.Options{Servers: servers, Config: gen, Server: func(_ int, cfg *server.Config) {
		cfg.Log = slog.New(slog.NewTextHandler(&w.log, nil))
		cfg.Clock = func() time.Time { return time.Now().Add(time.Duration(w.later.Load())) }
		if change != nil {
			change(&config.GenOptions{}, cfg)
		}
	}})
	return w
}

// holder is the client of a certificate.
func (w *certWorld) holder(t testing.TB, cert *usercert.Certificate) *user {
	t.Helper()
	u := from(t, w.Cluster, newUser(t, w.Cluster, stranger, stranger))
	require.NoError(t, cert.Sign(&u.cred))
	return u
}

// root is the holder of the authority's key.
func (w *certWorld) root(t testing.TB) *user {
	t.Helper()
	cert, err := usercert.New(w.ca.Cert.Raw, w.ca.Key)
	require.NoError(t, err)
	return w.holder(t, cert)
}

func (w *certWorld) failures() (n uint64) {
	for i := range w.Len() {
		n += w.Server(i).Stats().AuthenticationFailures
	}
	return n
}

// TestCertificates: on all servers a client acts for the user that the directory has for its certificate. The user named in the
// credential is ignored.
func TestCertificates(t *testing.T) {
	w := certificates(t, 2, nil)
	admin := w.root(t)
	home, err := admin.mkdir(w.FS.Root, "home", 0o755)
	require.NoError(t, err)
	alice := w.holder(t, w.ca.User(t, "alice", nil))
	_, err = alice.create(home, "mine", 0o644)
	require.Equal(t, proto.EACCES, err)
	_, err = admin.do(int(w.owner(home)), admin.header(home), &proto.SetAttrReq{Handle: home, FS: admin.fs(), Cred: admin.cred,
		Attr: proto.Attr{Mask: proto.AttrUID, Owner: 1000, Type: proto.TypeDirectory}})
	require.NoError(t, err)
	for _, name := range []string{"one", "two", "three", "four"} {
		file, err := alice.create(home, name, 0o600)
		require.NoError(t, err)
		a, err := alice.attr(file, proto.AttrCommon)
		require.NoError(t, err)
		require.EqualValues(t, 1000, a.Owner)
		require.EqualValues(t, 100, a.Group)
		dir, err := alice.mkdir(home, name+".d", 0o700)
		require.NoError(t, err)
		a, err = alice.attr(dir, proto.AttrCommon)
		require.NoError(t, err)
		require.EqualValues(t, 1000, a.Owner)
		bob := w.holder(t, w.ca.User(t, "bob", nil))
		require.Zero(t, bob.header(file).Capability.Mask&(proto.MayRead|proto.MayWrite))
		require.NotZero(t, alice.header(file).Capability.Mask&proto.MayWrite)
		require.NoError(t, alice.remove(home, name+".d"))
	}
	require.Zero(t, w.failures(), "%s", w.log.String())
	require.Less(t, w.users.Searches(), 20, "servers remember users")
}

func (w *certWorld) owner(h proto.Handle) (server int) {
	server, _ = w.FS.Owner(h)
	return server
}

// TestStrangersWithCertificates: nothing is done for a client that cannot prove that it is a user of the directory.
func TestStrangersWithCertificates(t *testing.T) {
	w := certificates(t, 2, nil)
	other := certtest.New(t, "CA")
	alice := w.ca.User(t, "alice", nil)
	admin, good := w.root(t), w.holder(t, alice)
	_, err := good.attr(w.FS.Root, proto.AttrCommon)
	require.NoError(t, err)

	strange := certtest.NewKey(t)
	stolen := w.holder(t, alice)
	require.NoError(t, strange.Sign(&stolen.cred)) // another user's certificate, without its key
	borrowed := w.holder(t, alice)                 // a signature of another credential
	borrowed.cred.Timeout = borrowed.cred.Timeout.Add(time.Hour)
	unsigned := w.holder(t, alice)
	unsigned.cred.Signature = nil
	naked := w.holder(t, alice)
	naked.cred.Certificate = nil
	rootsKey := w.root(t)
	require.NoError(t, strange.Sign(&rootsKey.cred))
	claims := from(t, w.Cluster, newUser(t, w.Cluster, 0, 0)) // without certificate and signature
	self, err := usercert.New(certtest.New(t, "alice").Cert.Raw, strange)
	require.Error(t, err, self)
	selfCA := certtest.New(t, "alice")
	self, err = usercert.New(selfCA.Cert.Raw, selfCA.Key)
	require.NoError(t, err)
	expired := func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }
	for name, u := range map[string]*user{
		"stolen": stolen, "borrowed": borrowed, "unsigned": unsigned, "naked": naked, "root": rootsKey, "claims": claims,
		"self-signed":     w.holder(t, self),
		"other authority": w.holder(t, other.User(t, "alice", nil)),
		"expired":         w.holder(t, w.ca.User(t, "alice", expired)),
		"nobody":          w.holder(t, w.ca.User(t, "mallory", nil)),
		"pattern":         w.holder(t, w.ca.User(t, "*", nil)),
		"filter":          w.holder(t, w.ca.User(t, "x)(cn=alice", nil)),
	} {
		before := w.failures()
		_, err := u.attr(w.FS.Root, proto.AttrCommon)
		require.Equal(t, proto.EPERM, err, name)
		h := admin.header(w.FS.Root) // as if it was stolen
		_, err = u.to(w.FS.Root, h, &proto.LookupPathReq{Path: "file", FS: u.fs(), Start: w.FS.Root, Mask: proto.AttrCommon, Cred: u.cred})
		require.Equal(t, proto.EPERM, err, name)
		_, err = u.to(w.FS.Root, h, &proto.MkdirReq{FS: u.fs(), Cred: u.cred, Attr: proto.Attr{Mask: proto.AttrMkdir, Type: proto.TypeDirectory}})
		require.Equal(t, proto.EPERM, err, name)
		require.EqualValues(t, before+3, w.failures(), name)
	}
	said := w.log.String()
	require.LessOrEqual(t, strings.Count(said, "authentication failed"), 2*w.Len(), "failures do not fill the log")
	_, err = good.attr(w.FS.Root, proto.AttrCommon)
	require.NoError(t, err)
}

// TestCertificatesGoOn: a request of a certificate's user that a server forwards to another server is carried out there.
func TestCertificatesGoOn(t *testing.T) {
	w := certificates(t, 2, nil)
	u := w.root(t)
	var files []proto.Handle
	for i := range 8 {
		file, err := u.create(w.FS.Root, fmt.Sprint(i), 0o644)
		require.NoError(t, err)
		files = append(files, file)
	}
	require.True(t, slices.ContainsFunc(files, func(h proto.Handle) bool { return w.owner(h) == 0 }), "%v", files)
	require.True(t, slices.ContainsFunc(files, func(h proto.Handle) bool { return w.owner(h) == 1 }), "%v", files)
	alice := w.holder(t, w.ca.User(t, "alice", nil))
	for server := range 2 {
		resp, err := alice.do(server, nil, &proto.TreeGetAttrReq{FS: w.FS.ID, Cred: alice.cred, Mask: proto.AttrCommon, Handles: files})
		require.NoError(t, err)
		for _, err := range resp.(*proto.TreeGetAttrResp).Errors {
			require.Equal(t, proto.OK, err)
		}
	}
}

// TestUsersLeave: a user who was removed from the directory is refused when the servers ask again. A user whose certificate has
// expired is refused at once.
func TestUsersLeave(t *testing.T) {
	w := certificates(t, 1, nil)
	alice := w.holder(t, w.ca.User(t, "alice", nil))
	short := w.holder(t, w.ca.User(t, "bob", func(c *x509.Certificate) { c.NotAfter = time.Now().Add(30 * time.Minute) }))
	for _, u := range []*user{alice, short} {
		_, err := u.attr(w.FS.Root, proto.AttrCommon)
		require.NoError(t, err)
	}
	w.users.Remove("cn=alice,ou=Users,dc=example,dc=org")
	w.later.Store(int64(40 * time.Minute))
	_, err := alice.attr(w.FS.Root, proto.AttrCommon)
	require.NoError(t, err, "it is remembered for an hour")
	_, err = short.attr(w.FS.Root, proto.AttrCommon)
	require.Equal(t, proto.EPERM, err)
	w.later.Store(int64(61 * time.Minute))
	_, err = alice.attr(w.FS.Root, proto.AttrCommon)
	require.Equal(t, proto.EPERM, err)
}

// TestDirectoryIsAway: cached users are not affected, others get an error that asks them to try again, and the server does not
// query the directory for each request.
func TestDirectoryIsAway(t *testing.T) {
	w := certificates(t, 1, nil)
	alice, bob := w.holder(t, w.ca.User(t, "alice", nil)), w.holder(t, w.ca.User(t, "bob", nil))
	_, err := alice.attr(w.FS.Root, proto.AttrCommon)
	require.NoError(t, err)
	w.users.Silence(true)
	for range 3 {
		_, err = bob.attr(w.FS.Root, proto.AttrCommon)
		require.Equal(t, proto.EAGAIN, err)
	}
	_, err = alice.attr(w.FS.Root, proto.AttrCommon)
	require.NoError(t, err)
	w.users.Silence(false)
	_, err = bob.attr(w.FS.Root, proto.AttrCommon)
	require.Equal(t, proto.EAGAIN, err, "it is not asked again at once")
	w.later.Store(int64(time.Minute))
	_, err = bob.attr(w.FS.Root, proto.AttrCommon)
	require.NoError(t, err)
}

// TestUsersFromFile: without a directory, the file of --identities has the users of certificates. Lines for several users do not
// apply to certificates.
func TestUsersFromFile(t *testing.T) {
	ids, err := credential.ParseIdentities([]byte("carol 2000:200,27\nadmin any\n* 65534:65534\n"))
	require.NoError(t, err)
	w := certificates(t, 1, func(g *config.GenOptions, cfg *server.Config) { g.LDAP, cfg.Identities = config.LDAP{}, ids })
	root := w.root(t)
	open, err := root.mkdir(w.FS.Root, "open", 0o777)
	require.NoError(t, err)
	for name, owner := range map[string]uint32{"carol": 2000, "somebody": 65534} {
		u := w.holder(t, w.ca.User(t, name, nil))
		file, err := u.create(open, name, 0o644)
		require.NoError(t, err)
		a, err := u.attr(file, proto.AttrCommon)
		require.NoError(t, err)
		require.Equal(t, owner, a.Owner)
	}
	_, err = w.holder(t, w.ca.User(t, "admin", nil)).attr(open, proto.AttrCommon)
	require.Equal(t, proto.EPERM, err)

	both := certificates(t, 1, func(_ *config.GenOptions, cfg *server.Config) { cfg.Identities = ids })
	for name, want := range map[string]error{"alice": nil, "carol": nil, "admin": proto.EPERM, "somebody": proto.EPERM} {
		_, err := both.holder(t, both.ca.User(t, name, nil)).attr(both.FS.Root, proto.AttrCommon)
		require.Equal(t, want, err, name)
	}
}

// TestReloadCertificates: another authority replaces the first one.
func TestReloadCertificates(t *testing.T) {
	w := certificates(t, 1, nil)
	next := certtest.New(t, "next")
	before, after := w.holder(t, w.ca.User(t, "alice", nil)), w.holder(t, next.User(t, "alice", nil))
	_, err := before.attr(w.FS.Root, proto.AttrCommon)
	require.NoError(t, err)
	_, err = after.attr(w.FS.Root, proto.AttrCommon)
	require.Equal(t, proto.EPERM, err)
	w.Reload(func(c *config.Config) { c.Security.CAFile, c.Security.ServerKey = next.CertFile, next.KeyFile })
	_, err = before.attr(w.FS.Root, proto.AttrCommon)
	require.Equal(t, proto.EPERM, err)
	_, err = after.attr(w.FS.Root, proto.AttrCommon)
	require.NoError(t, err)
}

// want requests a certificate.
func (w *certWorld) want(t testing.TB, name, password string, days uint32) (*x509.Certificate, error) {
	t.Helper()
	to := &w.ca.Key.RSA().PublicKey
	sealed, err := usercert.SealPassword(to, password)
	require.NoError(t, err)
	key, err := usercert.SealKey(to, &certtest.NewKey(t).RSA().PublicKey)
	require.NoError(t, err)
	return w.ask(t, &proto.GetUserCertReq{FS: w.FS.ID, User: name, Password: sealed, Key: key, Days: days})
}

func (w *certWorld) ask(t testing.TB, req *proto.GetUserCertReq) (*x509.Certificate, error) {
	t.Helper()
	u := from(t, w.Cluster, newUser(t, w.Cluster, stranger, stranger))
	resp, err := u.do(0, nil, req)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(resp.(*proto.GetUserCertResp).Certificate)
	require.NoError(t, err)
	return cert, nil
}

// TestGetUserCert: a certificate is issued only for the right password, for that name, and for no longer than the server allows.
func TestGetUserCert(t *testing.T) {
	w := certificates(t, 1, nil)
	u := newUser(t, w.Cluster, stranger, stranger)
	resp, err := u.do(0, nil, &proto.GetUserCertKeyReq{FS: w.FS.ID})
	require.NoError(t, err)
	require.Equal(t, w.ca.Authority(t).PublicKey(), resp.(*proto.GetUserCertKeyResp).Key)
	_, err = u.do(0, nil, &proto.GetUserCertKeyReq{FS: w.FS.ID + 1})
	require.Equal(t, proto.EINVAL, err)

	for days, want := range map[uint32]time.Duration{0: 240 * time.Hour, 2: 48 * time.Hour, 4000000000: 240 * time.Hour} {
		cert, err := w.want(t, "alice", "wonderland", days)
		require.NoError(t, err)
		require.Equal(t, "CN=alice,O=OrangeFS,C=US", cert.Subject.String())
		require.WithinDuration(t, time.Now().Add(want), cert.NotAfter, wallclock.Patience)
		_, err = w.ca.Authority(t).Verify(cert.Raw, time.Now())
		require.NoError(t, err)
	}
	require.EqualValues(t, 3, w.Server(0).Stats().CertificatesIssued)

	// All faults give the same answer: it must not show which users exist, nor what the authority's key makes of a message.
	for name, password := range map[string]string{"alice": "wrong", "mallory": "wonderland", "": "", "a*": "wonderland"} {
		_, err := w.want(t, name, password, 0)
		require.Equal(t, proto.EACCES, err, name)
	}
	_, err = w.ask(t, &proto.GetUserCertReq{FS: w.FS.ID, User: "alice", Password: []byte("no ciphertext")})
	require.Equal(t, proto.EACCES, err)
	require.EqualValues(t, 5, w.failures())
}

// TestGuesses: a host that has sent some wrong passwords has to wait, even if the next one is right. Right ones do not count.
func TestGuesses(t *testing.T) {
	w := certificates(t, 1, nil)
	for range 7 {
		_, err := w.want(t, "alice", "wonderland", 0)
		require.NoError(t, err)
	}
	var last error
	tries := 0
	for ; last != proto.EAGAIN && tries < 20; tries++ {
		_, last = w.want(t, "alice", "wrong", 0)
	}
	require.Equal(t, 6, tries)
	searches := w.users.Searches()
	_, err := w.want(t, "alice", "wonderland", 0)
	require.Equal(t, proto.EAGAIN, err)
	require.Equal(t, searches, w.users.Searches(), "the directory is not asked")
	w.later.Store(int64(15 * time.Second))
	_, err = w.want(t, "alice", "wonderland", 0)
	require.NoError(t, err)
}

// TestNoIssue: a server without the authority's key verifies certificates and issues none. An invalid key is EINVAL.
func TestNoIssue(t *testing.T) {
	w := certificates(t, 1, func(g *config.GenOptions, _ *server.Config) { g.ServerKey = "" })
	_, err := w.want(t, "alice", "wonderland", 0)
	require.Equal(t, proto.ENOSYS, err)
	_, err = w.holder(t, w.ca.User(t, "alice", nil)).attr(w.FS.Root, proto.AttrCommon)
	require.NoError(t, err)

	w = certificates(t, 1, nil)
	sealed, err := usercert.SealPassword(&w.ca.Key.RSA().PublicKey, "wonderland")
	require.NoError(t, err)
	for _, key := range [][]byte{nil, []byte("x"), make([]byte, 128), sealed} {
		_, err = w.ask(t, &proto.GetUserCertReq{FS: w.FS.ID, User: "alice", Password: sealed, Key: key})
		require.Equal(t, proto.EINVAL, err)
	}
	c := pvfstest.Start(t, pvfstest.Options{Servers: 1})
	_, err = root(t, c).do(0, nil, &proto.GetUserCertKeyReq{FS: c.FS.ID})
	require.Equal(t, proto.ENOSYS, err)
}
