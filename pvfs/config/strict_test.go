package config

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// skeleton is a complete text with each section once.
const skeleton = `<Defaults>
	<Security>
		<LDAP>
		</LDAP>
	</Security>
</Defaults>
<Aliases>
	Alias one mem://one
	Alias two mem://two
</Aliases>
<FileSystem>
	Name fs
	ID 1
	RootHandle 3
	<Distribution>
		Name simple_stripe
	</Distribution>
	<MetaHandleRanges>
		Range one 3-100
	</MetaHandleRanges>
	<DataHandleRanges>
		Range two 1000-2000
	</DataHandleRanges>
	<StorageHints>
	</StorageHints>
	<ExportOptions>
	</ExportOptions>
</FileSystem>
<ServerOptions>
	Server one
</ServerOptions>
`

// with is the skeleton with more lines at the end of a section.
func with(section, lines string) string {
	end := "</" + section[1:]
	return strings.Replace(skeleton, end, lines+"\n"+end, 1)
}

// TestMisspelt: a misspelt keyword of access control must not leave the file system open.
func TestMisspelt(t *testing.T) {
	_, err := Parse(with("<ExportOptions>", "ReadOnyl tcp://10.0.0.0@8"))
	require.ErrorContains(t, err, `<ExportOptions> has no keyword "ReadOnyl": did you mean ReadOnly?`)
}

func TestStrict(t *testing.T) {
	for _, c := range []struct{ section, lines, want string }{
		{"<ExportOptions>", "ReadOnyl *", `fs.conf:27: <ExportOptions> has no keyword "ReadOnyl": did you mean ReadOnly?`},
		{"<ExportOptions>", "ROOTSQUSH *", `fs.conf:27: <ExportOptions> has no keyword "ROOTSQUSH": did you mean RootSquash?`},
		{"<ExportOptions>", "Deny *", `fs.conf:27: <ExportOptions> has no keyword "Deny"`},
		{"<FileSystem>", "ReadOnly *", `fs.conf:28: ReadOnly does not belong in <FileSystem>, but in <ExportOptions>`},
		{"<StorageHints>", "LogFile /x", `fs.conf:25: LogFile does not belong in <StorageHints>, but in <Defaults> or <ServerOptions>`},
		{"<FileSystem>", "<ExprotOptions>\nReadOnly *\n</ExprotOptions>", `fs.conf:28: there is no section <ExprotOptions>: did you mean <ExportOptions>?`},
		{"<FileSystem>", "<Strange>\n<Stranger>\nX 1\n</Stranger>\n</Strange>", `fs.conf:28: there is no section <Strange>`},
		{"<Defaults>", "<ExportOptions>\nReadOnly *\n</ExportOptions>", `fs.conf:6: <ExportOptions> does not belong in <Defaults>, but in <FileSystem>`},
		{"<FileSystem>", "<Security>\n</Security>", `fs.conf:28: <Security> does not belong in <FileSystem>, but in <Defaults> or <ServerOptions>`},
		{"<FileSystem>", "<Aliases>\n</Aliases>", `fs.conf:28: <Aliases> does not belong in <FileSystem>, but outside of all sections`},
		{"<FileSystem>", "Name other", `fs.conf:28: <FileSystem> has Name twice, first in line 12`},
		{"<ExportOptions>", "AnonUID 1\nAnonUID 2", `fs.conf:28: <ExportOptions> has AnonUID twice, first in line 27`},
		{"<Defaults>", "<Security>\nTrustedPorts 1-2\n</Security>\n<Security>\nTrustedPorts 3-4\n</Security>", `fs.conf:10: <Security> has TrustedPorts twice, first in line 7`},
		{"<ServerOptions>", "LogFile /x\n</ServerOptions>\n<ServerOptions>\nServer one\nLogFile /y", `fs.conf:35: <ServerOptions> has LogFile twice, first in line 31`},
		{"<ServerOptions>", "Server two", `fs.conf:31: <ServerOptions> has Server twice`},
		{"<ServerOptions>", "</ServerOptions>\n<ServerOptions>\nServer three", `fs.conf:32: <ServerOptions>: there is no alias "three"`},
		{"<ServerOptions>", "</ServerOptions>\n<ServerOptions>\n<Security>\nTrustedPorts 1-2\n</Security>", `fs.conf:34: TrustedPorts: Server must come first in <ServerOptions>`},
		{"<ServerOptions>", "<Security>\nTurnOffTimeouts yes\n</Security>", `fs.conf:32: TurnOffTimeouts: it is for all servers alike: it belongs in <Security> in <Defaults>`},
		{"<ServerOptions>", "ServerJobBMITimeoutSecs x", `fs.conf:31: ServerJobBMITimeoutSecs: "x" is no number from 0 to 2147483647`},
		{"<ExportOptions>", "ReadOnly", `fs.conf:27: ReadOnly: it has no value`},
		{"<ExportOptions>", "ReadOnly ,", `fs.conf:27: ReadOnly: "," is no pattern of addresses`},
		{"<ExportOptions>", "ReadOnly tcp://x@y", `fs.conf:27: ReadOnly: "tcp://x@y" is no network: want address@bits`},
		{"<Security>", "TrustedPorts 0-0", `fs.conf:5: TrustedPorts: "0-0" is no range of ports`},
		{"<LDAP>", "BindPassword secret", `fs.conf:4: BindPassword: every client can read this text, and the password with it: put it into a file that only the servers can read, and write file:PATH here`},
		{"<LDAP>", "Hosts ldap.example.org", `fs.conf:4: Hosts: "ldap.example.org" is no server: want ldaps://HOST, ldap://HOST or ldapi:///PATH`},
		{"<LDAP>", "SearchMode both", `fs.conf:4: SearchMode: "both" is neither cn nor dn`},
		{"<Security>", "UserCertExp 0", `fs.conf:5: UserCertExp: "0" is no number from 1 to 36500`},
		{"<FileSystem>", "TreeWidth many", `fs.conf:28: TreeWidth: "many" is no number from 1 to 4096`},
		{"<ServerOptions>", "</ServerOptions>\nReadOnly *\n<ServerOptions>", `fs.conf:32: ReadOnly does not belong outside of all sections, but in <ExportOptions>`},
		{"<ServerOptions>", "</ServerOptions>\nInclude x\n<ServerOptions>", `fs.conf:32: "Include" is outside of all sections`},
		{"<ServerOptions>", "</ServerOptions>\n<ServerOptions> two", `fs.conf:32: <ServerOptions>: a section takes no value`},
		{"<ServerOptions>", "LogFile \"x", `fs.conf:31: a quotation mark without its partner`},
	} {
		_, err := ParseWith(with(c.section, c.lines), Options{File: "fs.conf"})
		assert.EqualError(t, err, c.want, c.lines)
	}
}

// TestSeveralErrors: all errors are reported together, in the order of their lines, up to a limit.
func TestSeveralErrors(t *testing.T) {
	text := strings.Replace(with("<ExportOptions>", "ReadOnyl *\nRootSqush *\nAnonUID x"), "ID 1", "ID 0", 1)
	_, err := ParseWith(text, Options{File: "fs.conf"})
	require.EqualError(t, err, `fs.conf:13: ID: "0" is no number from 1 to 2147483647
fs.conf:27: <ExportOptions> has no keyword "ReadOnyl": did you mean ReadOnly?
fs.conf:28: <ExportOptions> has no keyword "RootSqush": did you mean RootSquash?
fs.conf:29: AnonUID: "x" is no user or group`)

	_, err = Parse(with("<ExportOptions>", strings.Repeat("ReadOnyl *\n", 1000)))
	var joined interface{ Unwrap() []error }
	require.True(t, errors.As(err, &joined))
	require.Len(t, joined.Unwrap(), problemsMax+1)
	require.ErrorContains(t, err, "and 950 more errors")
}

// TestNoFollowingErrors: a misspelt keyword is not also reported as missing.
func TestNoFollowingErrors(t *testing.T) {
	for _, changed := range []string{"Nmae fs", "Name", "nAmes fs"} {
		_, err := Parse(strings.Replace(skeleton, "Name fs", changed, 1))
		require.Error(t, err)
		require.NotContains(t, err.Error(), "\n")
	}
}

// TestOtherFileSystems: all file systems in a server's text must be correct, and they must differ.
func TestOtherFileSystems(t *testing.T) {
	second := func(lines string) string {
		return skeleton + "<FileSystem>\n" + lines + `
			<MetaHandleRanges>
				Range two 3-100
			</MetaHandleRanges>
			<DataHandleRanges>
				Range two 1000-2000
			</DataHandleRanges>
		</FileSystem>
		`
	}
	for lines, want := range map[string]string{
		"Name second\nID 2\nRootHandle 3": "",
		"Name second\nID 2":               "config: line 41: </FileSystem>: the file system has no RootHandle",
		"Name fs\nID 2\nRootHandle 3":     "config: line 32: <FileSystem>: there is another file system with Name fs",
		"Name second\nID 1\nRootHandle 3": "config: line 32: <FileSystem>: there is another file system with ID 1",
		"ID 2\nRootHandle 3":              "config: line 41: </FileSystem>: the file system has no Name",
	} {
		c, err := Parse(second(lines))
		if want == "" {
			require.NoError(t, err)
			require.Empty(t, c.Servers[1].Meta)
			continue
		}
		require.EqualError(t, err, want)
		_, err = ParseWith(second(lines), Options{FS: "fs", Lenient: true})
		require.NoError(t, err, "this is not what the client mounts")
	}
}

// strange inserts settings that servers of another version may have.
var strange = strings.NewReplacer(
	"<LDAP>", "<LDAP>\nNewer 1",
	"</Security>", "TrustedNetwork new-syntax://a@b@c\n<Tokens>\nIssuer x\n</Tokens>\n</Security>",
	"ID 1", "ID 1\nNewKeyword 12\nFileStuffing automatically\nTreeWidth",
	"<StorageHints>", "<Replication>\nID x\nRange 5\n<Deeper>\n</Deeper>\n</Replication>\n<StorageHints>",
	"<ExportOptions>", "<ExportOptions>\nReadOnyl *\nAnonUID nobody",
	"Server one", "Server three\nLogFile",
).Replace(skeleton)

// TestLenient: a client accepts the text of servers that know more, but not a text without the settings that it needs.
func TestLenient(t *testing.T) {
	_, err := Parse(strange)
	require.Error(t, err)
	c, err := ParseWith(strange, Options{Lenient: true})
	require.NoError(t, err)
	plain, err := Parse(skeleton)
	require.NoError(t, err)
	require.Equal(t, plain.Servers, c.Servers)
	require.Equal(t, plain.ID, c.ID)
	require.True(t, c.FileStuffing)

	for old, changed := range map[string]string{
		"ID 1": "ID x", "Range one 3-100": "Range one x", "Range two": "Range nobody", "Alias one": "Alias two",
		"RootHandle 3": "RootHandle 200", "Name simple_stripe": "Name some_stripe", "</StorageHints>": "",
		"<Defaults>": "<Defaults>\nClientRetryLimit many",
	} {
		text := strings.Replace(strange, old, changed, 1)
		require.NotEqual(t, strange, text)
		_, err := ParseWith(text, Options{Lenient: true})
		require.Error(t, err, changed)
	}
}

// TestForServer: <ServerOptions> apply to that server, and replace the common settings.
func TestForServer(t *testing.T) {
	text := with("<ServerOptions>", "ServerJobBMITimeoutSecs 7\n<Security>\nTrustedNetwork tcp://10.1.*\nTrustedNetwork tcp://10.2.*\nTrustedPorts 1-9\n</Security>")
	text = strings.Replace(text, "<LDAP>", "TrustedNetwork tcp://*\nCapabilityTimeoutSecs 5\n<LDAP>", 1)
	c, err := Parse(text)
	require.NoError(t, err)
	for server, c := range []*Config{c.ForServer(0), c.ForServer(1)} {
		require.Equal(t, server == 0, c.ServerTimeout.Seconds() == 7)
		require.Equal(t, server == 0, c.Security.TrustedPortLast == 9)
		require.Equal(t, server == 1, c.Security.TrustedNetworks.Match("tcp://11.1.1.1:1"))
		require.True(t, c.Security.TrustedNetworks.Match("tcp://10.1.1.1:1"))
		require.True(t, c.Security.TrustedNetworks.Match("tcp://10.2.1.1:1"))
		require.EqualValues(t, 5, c.Security.CapabilityTimeout.Seconds())
	}
	require.Same(t, c, c.ForServer(1))

	c, err = Parse(read(t, "fs.conf"))
	require.NoError(t, err)
	require.Same(t, c, c.ForServer(0), "folders and logs change nothing")
}

func TestIgnored(t *testing.T) {
	text := with("<ServerOptions>", "LogFile /x\n<Security>\nCapabilityCacheTimeoutSecs 5\n</Security>")
	text = strings.Replace(text, "<LDAP>", "keystore /k\nCredentialCacheTimeoutSecs 9\n<LDAP>", 1)
	text = strings.Replace(text, "ID 1", "ID 1\nsecretkey x\nTreeWidth 4", 1)
	c, err := Parse(text)
	require.NoError(t, err)
	var got []string
	for _, i := range c.Ignored() {
		got = append(got, fmt.Sprintln(i.Line, i.Section, i.Keyword.Name, i.Keyword.Security, i.Server))
	}
	require.Equal(t, []string{
		"4 <Security> CredentialCacheTimeoutSecs false -1\n", "16 <FileSystem> SecretKey true -1\n",
		"35 <ServerOptions> LogFile false 0\n", "37 <Security> CapabilityCacheTimeoutSecs false 0\n",
	}, got)
	require.Equal(t, "/k", c.Security.KeyStore)
}
