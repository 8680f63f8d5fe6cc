package stock

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/viaduct-hpc/viaduct/pvfs/config"
	"github.com/viaduct-hpc/viaduct/pvfs/credential"
)

// keys are for programs with key-based security: one key for all clients of this machine, and one for all servers.
type keys struct {
	client     *credential.Key
	clientFile string
	serverFile string
	keystore   string
}

// Key lengths in bits, as in pvfs2-gen-keys.sh.
const (
	clientKeyBits = 1024
	serverKeyBits = 2048
)

// wantsKeys is an error message that only a pvfs2-server with key-based security contains.
const wantsKeys = "Keystore not defined in configuration file"

// generated are the keys of this process.
var generated = sync.OnceValues(func() (pair [2]*credential.Key, err error) {
	if pair[0], err = credential.GenerateKey(clientKeyBits); err == nil {
		pair[1], err = credential.GenerateKey(serverKeyBits)
	}
	return pair, err
})

// newKeys makes keys, and files for the duration of the test. nil: the programs have no key-based security.
func newKeys(tb testing.TB, o Install) *keys {
	tb.Helper()
	program, err := os.ReadFile(o.Program(tb, "pvfs2-server"))
	must(tb, "read pvfs2-server", err)
	if !bytes.Contains(program, []byte(wantsKeys)) {
		return nil
	}
	pair, err := generated()
	must(tb, "make keys", err)
	host, err := os.Hostname()
	must(tb, "find the name of this machine", err)
	dir := tb.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} {
		must(tb, "let other users in", os.Chmod(d, 0o755)) //nolint:gosec // see keyFor
	}
	k := &keys{
		client: pair[0], clientFile: filepath.Join(dir, "client.pem"),
		serverFile: filepath.Join(dir, "server.pem"), keystore: filepath.Join(dir, "keystore"),
	}
	must(tb, "write a key", os.WriteFile(k.clientFile, pair[0].Private(), 0o600))
	must(tb, "write a key", os.WriteFile(k.serverFile, pair[1].Private(), 0o600))
	client, err := pair[0].Public()
	must(tb, "write a keystore", err)
	server, err := pair[1].Public()
	must(tb, "write a keystore", err)
	text := []byte(credential.Entry(host, client))
	for i := range serversMax {
		text = fmt.Appendf(text, "S:%s\n%s", aliasOf(i), server)
	}
	must(tb, "write a keystore", os.WriteFile(k.keystore, text, 0o600))
	return k
}

// Key is the private key of clients on this machine. nil: the programs have no key-based security.
func (o Install) Key() *credential.Key {
	if o.keys == nil {
		return nil
	}
	return o.keys.client
}

// KeyFile is the file of Key, which only this user can read; "" if there is none.
func (o Install) KeyFile() string {
	if o.keys == nil {
		return ""
	}
	return o.keys.clientFile
}

// Keystore is the file with the public keys; "" if there is none.
func (o Install) Keystore() string {
	if o.keys == nil {
		return ""
	}
	return o.keys.keystore
}

// Configure adds the installation's keys, or its authority and its directory of users, to a configuration.
func (o Install) Configure(gen *config.GenOptions) {
	if o.certs != nil {
		gen.CAFile, gen.ServerKey = o.certs.CA.CertFile, o.certs.CA.KeyFile
		gen.LDAP = config.LDAP{Hosts: []string{o.certs.Users.URL()}, Root: "ou=Users,dc=example,dc=org"}
	}
	if o.keys != nil {
		gen.KeyStore, gen.ServerKey = o.keys.keystore, o.keys.serverFile
	}
}

// keyFor is a copy of KeyFile for another user.
func (o Install) keyFor(tb testing.TB, uid, gid uint32) string {
	tb.Helper()
	if o.keys == nil || uid == 0 {
		return o.KeyFile()
	}
	path := filepath.Join(filepath.Dir(o.keys.clientFile), fmt.Sprintf("client-%d.pem", uid))
	must(tb, "write a key", os.WriteFile(path, o.keys.client.Private(), 0o600))
	must(tb, "give a key away", os.Chown(path, int(uid), int(gid)))
	return path
}

func must(tb testing.TB, what string, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatalf("stock: %s: %v", what, err)
	}
}
