package ldapusers_test

import (
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/ldapusers"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/ldapusers/ldaptest"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
	"github.com/viaduct-hpc/viaduct/pvfs/usercert"
)

// urlOf is a path in the URL of a socket.
func urlOf(path string) string { return url.PathEscape(path) }

// at is a directory with the default configuration.
func at(t testing.TB, hosts ...string) (config.LDAP, *ldapusers.Directory) {
	t.Helper()
	cfg := config.LDAP{
		Hosts: hosts, Root: "ou=Users,dc=example,dc=org", Class: "inetOrgPerson", Attr: "CN", UIDAttr: "uidNumber", GIDAttr: "gidNumber",
		Timeout: wallclock.Patience,
	}
	d, err := ldapusers.New(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { _ = d.Close() })
	return cfg, d
}

func name(common string) usercert.Subject {
	return usercert.Subject{CommonName: common, DN: "CN=" + common + ",ou=Users,dc=example,dc=org"}
}

// entry is alice's entry with other attributes.
func entry(name string, uids, gids []string) ldaptest.Entry {
	e := ldaptest.User(name, "", 0, 0)
	e.Attributes["uidNumber"], e.Attributes["gidNumber"] = uids, gids
	return e
}

func TestFind(t *testing.T) {
	machine := ldaptest.User("machine", "pw", 1003, 100)
	machine.Attributes["objectClass"] = []string{"device"}
	s := ldaptest.Start(t,
		ldaptest.User("alice", "wonderland", 1000, 100), ldaptest.User("twin", "x", 1001, 100), ldaptest.User("TWIN", "x", 1002, 100), machine,
		entry("none", nil, []string{"100"}), entry("two", []string{"5", "6"}, []string{"100"}), entry("word", []string{"root"}, []string{"100"}),
		entry("large", []string{"4294967296"}, []string{"100"}), entry("minus", []string{"-1"}, []string{"100"}),
		entry("nobody", []string{"4294967295"}, []string{"100"}), entry("group", []string{"5"}, []string{"0x5"}))
	cfg, d := at(t, s.URL())
	uid, groups, err := d.Find(t.Context(), name("alice"))
	require.NoError(t, err)
	require.EqualValues(t, 1000, uid)
	require.Equal(t, []uint32{100}, groups)
	for common, want := range map[string]error{
		"bob": ldapusers.ErrNobody, "machine": ldapusers.ErrNobody, "a*": ldapusers.ErrNobody, "*": ldapusers.ErrNobody,
		"x)(uidNumber=0": ldapusers.ErrNobody, "twin": ldapusers.ErrAmbiguous,
		"none": ldapusers.ErrEntry, "two": ldapusers.ErrEntry, "word": ldapusers.ErrEntry, "large": ldapusers.ErrEntry,
		"minus": ldapusers.ErrEntry, "nobody": ldapusers.ErrEntry, "group": ldapusers.ErrEntry,
	} {
		_, _, err := d.Find(t.Context(), name(common))
		require.ErrorIs(t, err, want, common)
	}
	cfg.ByDN = true
	byDN, err := ldapusers.New(cfg)
	require.NoError(t, err)
	uid, _, err = byDN.Find(t.Context(), name("alice"))
	require.NoError(t, err)
	require.EqualValues(t, 1000, uid)
	_, _, err = byDN.Find(t.Context(), name("bob"))
	require.ErrorIs(t, err, ldapusers.ErrNobody)
	require.NoError(t, byDN.Close())
}

// TestAuthenticate: a wrong or empty password is refused, also if the directory accepts a bind without a password.
func TestAuthenticate(t *testing.T) {
	s := ldaptest.Start(t, ldaptest.User("alice", "wonderland", 1000, 100))
	_, d := at(t, s.URL())
	require.NoError(t, d.Authenticate(t.Context(), "alice", "wonderland"))
	for _, password := range []string{"", "wrong", "wonderland "} {
		require.ErrorIs(t, d.Authenticate(t.Context(), "alice", password), ldapusers.ErrPassword)
	}
	for _, name := range []string{"bob", "a*", "*)(cn=alice"} {
		require.ErrorIs(t, d.Authenticate(t.Context(), name, "wonderland"), ldapusers.ErrNobody)
	}
	require.ErrorIs(t, d.Authenticate(t.Context(), "", "wonderland"), ldapusers.ErrPassword)
}

// TestConnections: a broken connection is made again, the next one of several hosts is tried, and a directory that does not
// answer gives another error than one without the user.
func TestConnections(t *testing.T) {
	dead := ldaptest.Start(t)
	dead.Silence(true)
	s := ldaptest.Start(t, ldaptest.User("alice", "wonderland", 1000, 100))
	_, d := at(t, "ldap://127.0.0.1:1", s.URL())
	for range 3 {
		_, _, err := d.Find(t.Context(), name("alice"))
		require.NoError(t, err)
		s.Cut()
	}
	s.Silence(true)
	_, _, err := d.Find(t.Context(), name("alice"))
	require.Error(t, err)
	require.NotErrorIs(t, err, ldapusers.ErrNobody)
	s.Silence(false)
	_, _, err = d.Find(t.Context(), name("alice"))
	require.NoError(t, err)
	_, lost := at(t, dead.URL())
	_, _, err = lost.Find(t.Context(), name("alice"))
	require.Error(t, err)
	require.NotErrorIs(t, err, ldapusers.ErrNobody)
}

// TestBind: the server's own password is read from a file that only the server can read.
func TestBind(t *testing.T) {
	s := ldaptest.Start(t, ldaptest.User("alice", "wonderland", 1000, 100), ldaptest.User("reader", "secret", 1, 1))
	cfg, _ := at(t, s.URL())
	cfg.BindDN = "cn=reader,ou=Users,dc=example,dc=org"
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), mode))
		require.NoError(t, os.Chmod(path, mode))
		return path
	}
	for path, says := range map[string]string{
		"":                             "BindDN needs BindPassword",
		file("open", "secret\n", 0644): "chmod 600",
		file("empty", "\n", 0600):      "is empty",
		filepath.Join(dir, "missing"):  "no such file",
	} {
		cfg.BindPassword = path
		_, err := ldapusers.New(cfg)
		require.ErrorContains(t, err, says)
	}
	cfg.BindPassword = file("wrong", "wrong", 0o600)
	d, err := ldapusers.New(cfg)
	require.NoError(t, err)
	_, _, err = d.Find(t.Context(), name("alice"))
	require.ErrorContains(t, err, "log in as BindDN")
	cfg.BindPassword = file("right", "secret\n", 0o600)
	d, err = ldapusers.New(cfg)
	require.NoError(t, err)
	_, _, err = d.Find(t.Context(), name("alice"))
	require.NoError(t, err)
	require.NoError(t, d.Close())
	cfg.Hosts = nil
	_, err = ldapusers.New(cfg)
	require.ErrorContains(t, err, "has no Hosts")
}

func TestPlain(t *testing.T) {
	_, d := at(t, "ldaps://a", "ldapi:///x", "ldap://127.0.0.1", "ldap://127.0.0.1:389/", "ldap://localhost", "ldap://[::1]:389", "ldap://b:389", "ldap://10.0.0.1")
	require.Equal(t, []string{"ldap://b:389", "ldap://10.0.0.1"}, d.Plain())
}
