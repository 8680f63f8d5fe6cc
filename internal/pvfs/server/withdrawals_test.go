package server

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/rights"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// TestManyWithdrawals: beyond the limit for single objects, all earlier capabilities of their server are void.
func TestManyWithdrawals(t *testing.T) {
	var w withdrawals
	old, young := rights.Issue{Server: 1, At: 10, User: 7, Known: true}, rights.Issue{Server: 1, At: 12, User: 7, Known: true}
	for h := range proto.Handle(withdrawalsMax) {
		w.hold(1, h, withdrawal{Withdrawal: rights.Withdrawal{At: 11, Owner: 5}})
	}
	require.True(t, w.void(0, old))
	require.False(t, w.void(withdrawalsMax+1, old))
	w.hold(1, withdrawalsMax, withdrawal{Withdrawal: rights.Withdrawal{At: 11, Owner: 5}})
	require.Len(t, w.of, withdrawalsMax)
	for h := range proto.Handle(withdrawalsMax + 2) {
		require.True(t, w.void(h, old))
		require.False(t, w.void(h, young))
	}
	require.False(t, w.void(withdrawalsMax, rights.Issue{Server: 0, At: 10, User: 7, Known: true}), "another server's are good")
	w.hold(1, 3, withdrawal{Withdrawal: rights.Withdrawal{At: 20, Owner: 5}})
	require.True(t, w.void(3, young), "of an object that is known already more can be known")
	w.hold(1, 3, withdrawal{Withdrawal: rights.Withdrawal{At: 15, Owner: 5}})
	require.False(t, w.void(3, rights.Issue{Server: 1, At: 21, User: 7, Known: true}))
	require.True(t, w.void(3, rights.Issue{Server: 1, At: 20, User: 7, Known: true}), "it never gets less")
	require.False(t, w.void(3, rights.Issue{Server: 1, At: 20, User: 5, Known: true}), "the owner's is good")
	require.False(t, w.void(3, rights.Issue{Server: 1, At: 20, User: 0, Known: true}), "root's is good")
	held := rights.Issue{Server: 1, At: 20, User: 7, Open: true, Known: true}
	require.False(t, w.void(3, held), "an open file's is good")
	w.hold(1, 3, withdrawal{Withdrawal: rights.Withdrawal{At: 15, Ended: 15, Owner: 5}})
	require.False(t, w.void(3, held))
	w.hold(1, 3, withdrawal{Withdrawal: rights.Withdrawal{At: 15, Ended: 20, Owner: 5}})
	require.True(t, w.void(3, held), "until a restart")
	was := w.get(3)
	w.hold(1, 3, withdrawal{Withdrawal: rights.Withdrawal{At: 21, Owner: 5}})
	w.forget(3, was)
	require.True(t, w.void(3, rights.Issue{Server: 1, At: 20, User: 7, Known: true}), "there was a newer")
	w.forget(3, w.get(3))
	require.False(t, w.void(3, rights.Issue{Server: 1, At: 20, User: 7, Known: true}))
}

// TestIssue: the issue data in a capability can be read back; missing data protects no capability.
func TestIssue(t *testing.T) {
	s := &Server{cfg: Config{Alias: "one"}, fs: &config.Config{Servers: []config.Server{{Alias: "one"}}}, clock: time.Now}
	is := s.issueOf(&proto.Capability{Issuer: s.issuerOf(rights.Issue{At: 1 << 62, User: 7, Known: true})})
	require.Equal(t, rights.Issue{Server: 0, At: 1 << 62, User: 7, Known: true}, is)
	is = s.issueOf(&proto.Capability{Issuer: s.issuerOf(rights.Issue{At: 5, User: 7, Open: true, Known: true})})
	require.Equal(t, rights.Issue{Server: 0, At: 5, User: 7, Open: true, Known: true}, is)
	for text, want := range map[string]rights.Issue{
		"S:one":                       {Server: 0},
		"S:two 1 2":                   {Server: -1, At: 1, User: 2, Known: true},
		"C:one 1 2":                   {Server: -1},
		"S:one 1":                     {Server: 0},
		"S:one 1 2 3":                 {Server: 0},
		"S:one -1 2":                  {Server: 0, At: -1, User: 2, Known: true},
		"S:one 1 4294967296":          {Server: 0},
		"S:one 9223372036854775808 2": {Server: 0},
		"":                            {Server: -1},
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
