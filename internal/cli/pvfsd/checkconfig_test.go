package pvfsd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestCheckConfigGenerated: the output of genconfig has no errors with any options.
func TestCheckConfigGenerated(t *testing.T) {
	for _, options := range []string{
		"",
		"--fs-name x --id 5 --root 7 --dir /d --log-file /l --bmi-modules bmi_tcp,bmi_ib --no-stuffing --datafiles 1 --no-sync-meta --sync-data",
		"--meta-only a --data-only b --dir-servers 1 --dir-servers-max 4 --dir-split 9 --flow-buffer-size 65536 --flow-buffers 3",
		"--no-timeouts --trusted tcp://10.0.0.0@8 --trusted mem://* --root-squash * --no-root-squash tcp://10.* --all-squash mem://x --read-only tcp://10.0.0.*",
	} {
		name := filepath.Join(t.TempDir(), "fs.conf")
		good(t, append([]string{"genconfig", "-o", name, "--insecure", "a=tcp://a:3334,via+udp://a:3335", "b=tcp://b:3334"}, strings.Fields(options)...)...)
		out := good(t, "check-config", name)
		assert.Contains(t, out, "fs.conf has no errors", options)
		if !strings.Contains(options, "--log-file") { // it is for stock servers
			assert.NotContains(t, out, "no effect", options)
		}
	}
}

func TestCheckConfig(t *testing.T) {
	name := filepath.Join(t.TempDir(), "fs.conf")
	write := func(old, changed string) {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Contains(t, string(text), old)
		require.NoError(t, os.WriteFile(name, []byte(strings.Replace(string(text), old, changed, 1)), 0o600))
	}
	good(t, "genconfig", "-o", name, "--insecure", "--dir", "/d", "--read-only", "tcp://10.*", "--root-squash", "*", "--no-root-squash", "mem://*",
		"a=tcp://a:3334,via+udp://a:3335", "b=tcp://b:3334")
	write("UnexpectedRequests 50", "UnexpectedRequests 500")
	write("BMIModules bmi_tcp", "BMIOpts x")
	write("Server b\n\tDataStorageSpace /d-b", "Server b\n\tDataStorageSpace /ssd/d-b")
	write("Server b\n", "Server b\n<Security>\nServerKey /k\nTrustedPorts 1-1023\n<LDAP>\nSearchTimeout 5\n</LDAP>\n</Security>\nServerJobBMITimeoutSecs 7\n")
	all := good(t, "check-config", name)
	assert.Contains(t, all, `File system pvfs2-fs, ID 1000, root handle 1048576
  server       a at tcp://a:3334 and via+udp://a:3335, keeps metadata and data in /d-a
  server       b at tcp://b:3334, keeps metadata and data in /d-b
  new files    data on 2 of 2 servers, distribution simple_stripe with 65536-byte strips; small ones on one server
  directories  begin on 1 server, grow to 1, at 100 entries each
  transfers    messages of 2097152 bytes, 4 at once
  time-outs    servers wait 30s for a message and 30s for data; clients 5m0s and 5m0s, with 5 more tries 2s apart
  sync         metadata is on the disk before a change is acknowledged, data may get lost when a machine fails
  clients      may connect from anywhere
  clients      are believed about their user
  clients      credentials expire after 1h0m0s, capabilities after 10m0s
  clients      may only read from tcp://10.*
  clients      root from * becomes user 65534, group 65534, but not from mem://*
  exception    server b has settings of its own; --alias b prints them

Keywords of OrangeFS that matter for SECURITY and have no effect on pvfsd:
  line 75   SearchTimeout: no server knows it: SearchTimeoutSecs is meant

Keywords of OrangeFS that have no effect on pvfsd:
  line 2    UnexpectedRequests
  line 6    BMIOpts
  line 79   DataStorageSpace: all that a server keeps is in MetadataStorageSpace
`)
	a := good(t, "check-config", "--alias", "a", name)
	assert.NotContains(t, a, "b at")
	assert.NotContains(t, a, "SECURITY")
	b := good(t, "check-config", "--alias", "b", name)
	assert.NotContains(t, b, "a at")
	assert.Contains(t, b, "clients      may connect from anywhere, but only from ports 1-1023\n")
	assert.Contains(t, b, "servers wait 7s for a message")
	assert.Contains(t, b, "clients      ServerKey has no effect without CAFile: servers sign with the key of pvfsd serve --key-file\n")

	write("ServerKey /k", "ServerKey /k\nCAFile /ca.pem\nUserCertExp 30")
	write("SearchTimeout 5", "Hosts \"ldaps://x ldaps://y\"")
	b = good(t, "check-config", "--alias", "b", name)
	assert.Contains(t, b, "clients      must sign their credentials with a certificate that /ca.pem has signed, of a user from ldaps://x or ldaps://y\n")
	assert.NotContains(t, b, "ServerKey has no effect")

	write("ReadOnly", "ReadOnyl")
	write("RootSquashExceptions", "RootSqushExceptions")
	r := pvfsd(t, "check-config", name)
	assert.Equal(t, ExitUsage, r.code)
	assert.Empty(t, r.out.String())
	assert.Regexp(t, `(?s)fs.conf:\d+: <ExportOptions> has no keyword "RootSqushExceptions": did you mean RootSquashExceptions\?\n`+
		`.*fs.conf:\d+: <ExportOptions> has no keyword "ReadOnyl": did you mean ReadOnly\?\n`, r.err.String())
}

// TestCheckConfigOfSeveral: all file systems of a text are described, and common keywords are listed once.
func TestCheckConfigOfSeveral(t *testing.T) {
	name := newConfig(t, "--insecure", "a=tcp://a:3334")
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	text = []byte(strings.NewReplacer("UnexpectedRequests 50", "UnexpectedRequests 500", "alt-aio", "directio").Replace(string(text)))
	begin, end := strings.Index(string(text), "<FileSystem>"), strings.Index(string(text), "<ServerOptions>")
	second := strings.NewReplacer("pvfs2-fs", "second", "ID 1000", "ID 1001").Replace(string(text)[begin:end])
	require.NoError(t, os.WriteFile(name, append(text, second...), 0o600))
	out := good(t, "check-config", name)
	assert.Contains(t, out, "File system pvfs2-fs, ID 1000")
	assert.Contains(t, out, "File system second, ID 1001")
	assert.Equal(t, 1, strings.Count(out, "UnexpectedRequests"))
	assert.Equal(t, 2, strings.Count(out, "TroveMethod"))
}

// TestServeNamesKeywords: a server logs once which keywords have no effect.
func TestServeNamesKeywords(t *testing.T) {
	r, _ := serving(t, "--config", newConfig(t, "--log-file", "/l", newAddress("mem")), "--dir", filepath.Join(t.TempDir(), "data"), "--create")
	log := r.err.String()
	assert.Equal(t, 1, strings.Count(log, "have no effect"), log)
	assert.Contains(t, log, `level=INFO msg="keywords of the configuration that have no effect here" keywords=LogFile`)
	assert.Equal(t, 1, strings.Count(log, "LogFile"), "in <Defaults> and in <ServerOptions>")
}
