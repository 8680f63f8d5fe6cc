package pvfs

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/certtest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/ldapusers/ldaptest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
)

// TestGetUserCert: a user gets a certificate for a password, and works with it from then on.
func TestGetUserCert(t *testing.T) {
	ca, other := certtest.New(t, "CA"), certtest.New(t, "CA")
	users := ldaptest.Start(t, ldaptest.User("alice", "wonderland", 41007, 41008))
	c := pvfstest.Start(t, pvfstest.Options{Method: pvfstest.TCP, Config: func(g *config.GenOptions) {
		g.CAFile, g.ServerKey = ca.CertFile, ca.KeyFile
		g.LDAP = config.LDAP{Hosts: []string{users.URL()}, Root: "ou=Users,dc=example,dc=org"}
	}})
	home := t.TempDir()
	s := &shell{t: t, source: c.Source()}
	tab := filepath.Join(t.TempDir(), "pvfs2tab")
	require.NoError(t, os.WriteFile(tab, []byte(s.source+" /mnt/pvfs2 pvfs2 defaults,noauto 0 0\n"), 0o600))
	s.env = map[string]string{"HOME": home, "PVFS2TAB_FILE": tab}
	require.Contains(t, s.no(ExitFailed, "ls /"), "pvfs get-user-cert")
	s.ok("mkdir --cert-file " + ca.CertFile + " --key-file " + ca.KeyFile + " /home")
	s.ok("chmod --cert-file " + ca.CertFile + " --key-file " + ca.KeyFile + " 0777 /home")

	require.Contains(t, s.no(ExitUsage, "get-user-cert alice"), "there is no password")
	s.in = []byte("wrong\n")
	require.Contains(t, s.no(ExitFailed, "get-user-cert --ca-file "+ca.CertFile+" alice"), "the name or the password is wrong")
	s.in = []byte("wonderland\n")
	require.Contains(t, s.no(ExitFailed, "get-user-cert --ca-file "+other.CertFile+" alice"), "the password was not sent")
	require.Contains(t, s.no(ExitUsage, "get-user-cert a/CN=root"), "a slash")
	files, err := os.ReadDir(home)
	require.NoError(t, err)
	require.Empty(t, files)

	for range 2 { // the second one replaces the first
		require.Contains(t, s.ok("get-user-cert --ca-file "+ca.CertFile+" alice"), "the certificate of alice is in "+home)
	}
	files, err = os.ReadDir(home)
	require.NoError(t, err)
	require.Len(t, files, 2)
	for _, f := range files {
		info, err := f.Info()
		require.NoError(t, err)
		require.EqualValues(t, 0o600, info.Mode(), f.Name())
	}
	s.ok("mkdir /home/alice")
	require.Contains(t, s.ok("stat /home/alice"), "owner 41007, group 41008")

	_, errs, code := s.run("get-user-cert", "alice")
	require.Equal(t, ExitOK, code, errs)
	require.Contains(t, errs, "without --ca-file")

	cert, key := filepath.Join(home, "c"), filepath.Join(home, "k")
	s.ok("get-user-cert --ca-file " + ca.CertFile + " --cert-file " + cert + " --key-file " + key + " --days 1 alice")
	s.env["HOME"] = t.TempDir()
	require.Contains(t, s.no(ExitFailed, "ls /home"), "pvfs get-user-cert")
	s.env[certVariable], s.env[keyVariable] = cert, key
	require.Contains(t, s.ok("ls /home"), "alice")
	require.Contains(t, s.no(ExitFailed, "ls --cert-file "+ca.CertFile+" /home"), "authentication failed")
	require.NoError(t, os.Chmod(key, 0o644))
	require.Contains(t, s.no(ExitUsage, "ls /home"), "chmod 600")
}

// TestOthersHomes: a mount of root takes another user's certificate from that user's home directory.
func TestOthersHomes(t *testing.T) {
	require.NotEmpty(t, homeOf(0))
	require.Empty(t, homeOf(strangerID))
	a := &App{Getenv: func(string) string { return "" }}
	_, err := a.certificates(uint32(os.Geteuid()))(client.Identity{UID: strangerID})
	require.ErrorIs(t, err, fs.ErrNotExist)
}
