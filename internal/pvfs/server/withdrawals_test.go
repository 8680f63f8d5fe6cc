package server

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/pvfs/config"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// TestManyWithdrawals: beyond the limit for single objects, all earlier capabilities of their server are void.
func TestManyWithdrawals(t *testing.T) {
	var w withdrawals
	old, young := issue{server: 1, at: 10, user: 7}, issue{server: 1, at: 12, user: 7}
	for h := range proto.Handle(withdrawalsMax) {
		w.hold(1, h, withdrawal{at: 11, owner: 5})
	}
	require.True(t, w.void(0, old))
	require.False(t, w.void(withdrawalsMax+1, old))
	w.hold(1, withdrawalsMax, withdrawal{at: 11, owner: 5})
	require.Len(t, w.of, withdrawalsMax)
	for h := range proto.Handle(withdrawalsMax + 2) {
		require.True(t, w.void(h, old))
		require.False(t, w.void(h, young))
	}
	require.False(t, w.void(withdrawalsMax, issue{server: 0, at: 10, user: 7}), "another server's are good")
	w.hold(1, 3, withdrawal{at: 20, owner: 5})
	require.True(t, w.void(3, young), "of an object that is known already more can be known")
	w.hold(1, 3, withdrawal{at: 15, owner: 5})
	require.False(t, w.void(3, issue{server: 1, at: 21, user: 7}))
	require.True(t, w.void(3, issue{server: 1, at: 20, user: 7}), "it never gets less")
	require.False(t, w.void(3, issue{server: 1, at: 20, user: 5}), "the owner's is good")
	require.False(t, w.void(3, issue{server: 1, at: 20, user: 0}), "root's is good")
	held := issue{server: 1, at: 20, user: 7, open: true}
	require.False(t, w.void(3, held), "an open file's is good")
	w.hold(1, 3, withdrawal{at: 15, ended: 15, owner: 5})
	require.False(t, w.void(3, held))
	w.hold(1, 3, withdrawal{at: 15, ended: 20, owner: 5})
	require.True(t, w.void(3, held), "until a restart")
	was := w.get(3)
	w.hold(1, 3, withdrawal{at: 21, owner: 5})
	w.forget(3, was)
	require.True(t, w.void(3, issue{server: 1, at: 20, user: 7}), "there was a newer")
	w.forget(3, w.get(3))
	require.False(t, w.void(3, issue{server: 1, at: 20, user: 7}))
}

// TestIssue: the issue data in a capability can be read back; missing data protects no capability.
func TestIssue(t *testing.T) {
	s := &Server{cfg: Config{Alias: "one"}, fs: &config.Config{Servers: []config.Server{{Alias: "one"}}}, clock: time.Now}
	is := s.issueOf(&proto.Capability{Issuer: s.issuerOf(issue{at: 1 << 62, user: 7})})
	require.Equal(t, issue{server: 0, at: 1 << 62, user: 7}, is)
	is = s.issueOf(&proto.Capability{Issuer: s.issuerOf(issue{at: 5, user: 7, open: true})})
	require.Equal(t, issue{server: 0, at: 5, user: 7, open: true}, is)
	for text, want := range map[string]issue{
		"S:one":                       {server: 0, user: anybody},
		"S:two 1 2":                   {server: -1, at: 1, user: 2},
		"C:one 1 2":                   {server: -1, user: anybody},
		"S:one 1":                     {server: 0, user: anybody},
		"S:one 1 2 3":                 {server: 0, user: anybody},
		"S:one -1 2":                  {server: 0, at: -1, user: 2},
		"S:one 1 4294967296":          {server: 0, user: anybody},
		"S:one 9223372036854775808 2": {server: 0, user: anybody},
		"":                            {server: -1, user: anybody},
	} {
		require.Equal(t, want, s.issueOf(&proto.Capability{Issuer: text}), "%q", text)
	}
	last := s.moment()
	for range 1000 {
		now := s.moment()
		require.Greater(t, now, last)
		last = now
	}
}
