package server

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/refusal"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/rights"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
	"github.com/viaduct-hpc/viaduct/pvfs/credential"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// TestCapabilitiesAreTheirUsers: where the kernel names the user of a client, no other user's capability is accepted.
func TestCapabilitiesAreTheirUsers(t *testing.T) {
	ids, err := credential.ParseIdentities([]byte("uid:1000 users\n* any\n"))
	require.NoError(t, err)
	s := &Server{refusals: refusal.New(slog.New(slog.DiscardHandler), time.Now)}
	const from = "via+shm://~uid1000.x"
	issued := func(user uint32, groups ...uint32) rights.Capability {
		return rights.Capability{Proof: rights.Client, Issue: rights.Issue{User: user, Groups: groups, Known: true}}
	}
	for name, test := range map[string]struct {
		shows rights.Capability
		from  string
		ids   *credential.Identities
		keys  *credential.Keystore
		want  error
	}{
		"its own":                  {issued(1000, 1000, 50), from, nil, nil, nil},
		"another user's":           {issued(1001, 1000), from, nil, nil, proto.EPERM},
		"root's":                   {issued(0, 0), from, nil, nil, proto.EPERM},
		"of a group that it left":  {issued(1000, 51), from, nil, nil, proto.EPERM},
		"of nobody":                {issued(65534, 65534), from, nil, nil, nil},
		"by a line of its own":     {issued(1001, 1001), from, ids, nil, nil},
		"root's, beyond that line": {issued(0, 0), from, ids, nil, proto.EPERM},
		"who can sign for others":  {issued(1001, 1001), from, nil, &credential.Keystore{}, nil},
		"a server's":               {issued(1001, 1001), "", nil, nil, nil},
		"unsigned":                 {rights.Capability{Proof: rights.Client}, from, nil, nil, nil},
		"none":                     {rights.Capability{}, from, nil, nil, nil},
	} {
		r := &rules{export: &config.Export{AnonUID: 65534}, identities: test.ids, keys: test.keys}
		q := &query{rules: r, user: &bmi.User{UID: 1000, Groups: []uint32{1000, 50}}, Asker: rights.Asker{Shows: test.shows}}
		require.Equal(t, test.want, s.checkHolder(q, test.from), name)
	}
}
