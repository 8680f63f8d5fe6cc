package ldapusers_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/need"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/ldapusers"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
	"github.com/viaduct-hpc/viaduct/pvfs/usercert"
)

// schemas is the folder of OpenLDAP's schemas.
const schemas = "/etc/ldap/schema"

const slapdConf = `include %[1]s/core.schema
include %[1]s/cosine.schema
include %[1]s/nis.schema
include %[1]s/inetorgperson.schema
modulepath /usr/lib/ldap
moduleload back_mdb
access to attrs=userPassword by anonymous auth by * none
access to * by users read by anonymous auth
database mdb
suffix "dc=example,dc=org"
rootdn "cn=admin,dc=example,dc=org"
rootpw adminpw
directory %[2]s
`

const slapdUsers = `dn: dc=example,dc=org
objectClass: dcObject
objectClass: organization
o: Example
dc: example

dn: cn=alice,dc=example,dc=org
objectClass: inetOrgPerson
objectClass: posixAccount
cn: alice
sn: alice
uid: al
uidNumber: 1000
gidNumber: 100
homeDirectory: /home/alice
userPassword: wonderland
`

// TestOpenLDAP: the same with OpenLDAP's server.
func TestOpenLDAP(t *testing.T) {
	slapd := need.Program(t, "slapd")
	_, err := os.Stat(filepath.Join(schemas, "nis.schema"))
	need.Unless(t, "slapd", err)
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	require.NoError(t, os.Mkdir(filepath.Join(dir, "db"), 0o700))
	conf := write("slapd.conf", fmt.Sprintf(slapdConf, schemas, filepath.Join(dir, "db")))
	out, err := exec.Command(slapd, "-Tadd", "-f", conf, "-l", write("users.ldif", slapdUsers)).CombinedOutput()
	require.NoError(t, err, "%s", out)
	url := "ldapi://" + urlOf(filepath.Join(dir, "s"))
	cmd := exec.Command(slapd, "-d", "0", "-f", conf, "-h", url)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // its data is not needed any more
		_ = cmd.Wait()
	})
	d, err := ldapusers.New(config.LDAP{
		Hosts: []string{"ldapi://" + filepath.Join(dir, "s")}, Root: "dc=example,dc=org", Class: "inetOrgPerson", Attr: "CN",
		UIDAttr: "uidNumber", GIDAttr: "gidNumber", Timeout: wallclock.Patience,
		BindDN: "cn=admin,dc=example,dc=org", BindPassword: write("password", "adminpw\n"),
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	var uid uint32
	var groups []uint32
	require.Eventually(t, func() bool {
		uid, groups, err = d.Find(t.Context(), usercert.Subject{CommonName: "alice"})
		return err == nil
	}, wallclock.Patience, 20*time.Millisecond, "slapd does not answer: %v", err)
	require.EqualValues(t, 1000, uid)
	require.Equal(t, []uint32{100}, groups)
	_, _, err = d.Find(t.Context(), usercert.Subject{CommonName: "a*"})
	require.ErrorIs(t, err, ldapusers.ErrNobody)
	require.NoError(t, d.Authenticate(t.Context(), "alice", "wonderland"))
	require.ErrorIs(t, d.Authenticate(t.Context(), "alice", "wrong"), ldapusers.ErrPassword)
	require.ErrorIs(t, d.Authenticate(t.Context(), "alice", ""), ldapusers.ErrPassword)
	require.ErrorIs(t, d.Authenticate(t.Context(), "*", "wonderland"), ldapusers.ErrNobody)
}
