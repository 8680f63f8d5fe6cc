package credential_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/pvfs/credential"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

func TestIdentities(t *testing.T) {
	ids, err := credential.ParseIdentities([]byte(`
# machines
admin   any
login   users   # for everybody
alice   1000:1000,27
alice   2000:2000
`))
	require.NoError(t, err)
	who := func(user uint32, groups ...uint32) *proto.Credential {
		return &proto.Credential{User: user, Groups: groups}
	}
	for _, c := range []struct {
		client string
		cred   *proto.Credential
		ok     bool
	}{
		{"admin", who(0, 0), true},
		{"admin", who(5, 0), true},
		{"login", who(5, 5), true},
		{"login", who(0, 5), false},
		{"login", who(5, 0), false},
		{"login", who(5, 5, 0), false},
		{"alice", who(1000, 1000), true},
		{"alice", who(1000, 27, 1000), true},
		{"alice", who(1000, 27, 28), false},
		{"alice", who(1000, 0), false},
		{"alice", who(2000, 2000), true},
		{"alice", who(2000, 1000), false},
		{"alice", who(0, 0), false},
		{"stranger", who(5, 5), false},
		{"", who(5, 5), false},
		{"*", who(5, 5), false},
	} {
		err := ids.Allow(c.client, c.cred)
		if c.ok {
			require.NoError(t, err, "%+v", c)
		} else {
			require.ErrorIs(t, err, credential.ErrUser, "%+v", c)
		}
	}
	ids, err = credential.ParseIdentities([]byte("* users\nadmin any"))
	require.NoError(t, err)
	require.ErrorIs(t, ids.Allow("", who(5, 5)), credential.ErrUser, "nobody in particular")
	require.NoError(t, ids.Allow("stranger", who(5, 5)))
	require.ErrorIs(t, ids.Allow("stranger", who(0, 0)), credential.ErrUser)
	require.NoError(t, ids.Allow("admin", who(0, 0)))

	ids, err = credential.ParseIdentities([]byte("* any\nuid:5 6:6"))
	require.NoError(t, err)
	require.True(t, ids.Names("uid:5"))
	require.False(t, ids.Names("uid:6") || ids.Names("alice"))
	require.NoError(t, ids.Allow("uid:5", who(6, 6)))
	require.ErrorIs(t, ids.Allow("uid:5", who(5, 5)), credential.ErrUser)
	require.ErrorIs(t, ids.Allow("uid:6", who(6, 6)), credential.ErrUser, "* is for those that somebody gave a key")
	require.NoError(t, ids.Allow("alice", who(6, 6)))

	ids, err = credential.ParseIdentities([]byte("alice users\nalice 1000:1000,27\nadmin any\nuid:5 6:6\n* 65534:65534"))
	require.NoError(t, err)
	for _, c := range []struct {
		name   string
		others bool
		uid    uint32
		ok     bool
	}{
		{"alice", false, 1000, true}, {"alice", true, 1000, true}, {"admin", true, 0, false}, {"bob", false, 0, false}, {"bob", true, 65534, true},
		{"", true, 0, false}, {"*", true, 0, false}, {"uid:5", true, 0, false}, {"uid:6", true, 0, false},
	} {
		uid, groups, ok := ids.User(c.name, c.others)
		require.Equal(t, c.ok, ok, "%+v", c)
		require.Equal(t, c.uid, uid, "%+v", c)
		require.Equal(t, c.ok, len(groups) > 0, "%+v", c)
	}
	require.True(t, ids.Names("alice"))
	require.False(t, ids.Names("bob"))
	for text, says := range map[string]string{
		"a any\nb":              "line 2: want a client and its users",
		"a any any":             "line 1: want a client",
		"a all":                 `"all" is not any, users or UID:GID`,
		"a 1000":                "is not any",
		"a 1000:":               "is not any",
		"a 1000:x":              "is not any",
		"a -1:5":                "is not any",
		"a 4294967296:4":        "is not any",
		"a\tUsers # capital":    "is not any",
		"a 1000:1000,27, 5 ":    "want a client",
		"# fine\n\n a 1:1,,2\n": "line 3",
	} {
		_, err := credential.ParseIdentities([]byte(text))
		require.ErrorIs(t, err, credential.ErrFile, text)
		require.ErrorContains(t, err, says)
	}
}
