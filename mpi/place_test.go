package mpi

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi/boot"
)

// TestSpread: rank 0 finds out how far apart the processes are.
func TestSpread(t *testing.T) {
	named, plain := site{host: "a", named: true}, site{host: "a"}
	far := site{host: "b", named: true}
	reaching := func(s site, methods string) site { s.methods = methods; return s }
	tcp, other := reaching(plain, "via+shm, tcp"), reaching(far, "via+shm, tcp")
	for _, c := range []struct {
		places []site
		want   spread
	}{
		{[]site{named, named, named}, allByName},
		{[]site{plain, plain}, onOneHost},
		{[]site{named, plain, named}, onOneHost},
		{[]site{plain, named}, onOneHost},
		{[]site{tcp, tcp}, onOneHost},
		{[]site{named, named, far}, farApart},
		{[]site{named, far, plain}, farApart},
		{[]site{tcp, other, tcp}, allAlike},
		{[]site{tcp, other, reaching(far, "tcp")}, farApart},
		{[]site{tcp, plain, other}, farApart},
	} {
		boots, err := boot.Local(len(c.places))
		require.NoError(t, err)
		var all sync.WaitGroup
		for rank, b := range boots {
			require.NoError(t, tell(t.Context(), b, placeKey, c.places[rank].encode()))
			all.Go(func() { assert.NoError(t, b.Fence(t.Context())) })
		}
		all.Wait()
		got, of, err := comparePlaces(t.Context(), boots[0], c.places[0])
		require.NoError(t, err)
		assert.Equal(t, c.want, got, "%q", c.places)
		for rank, host := range of {
			assert.Equal(t, c.places[rank].host, host)
		}
	}
}

func TestSitesOfOthers(t *testing.T) {
	want := site{host: "näher = ;", named: true, methods: "tcp"}
	got, err := parseSite(want.encode())
	require.NoError(t, err)
	assert.Equal(t, want, got)
	for _, bad := range []string{"", "named", "named,a", "other,,", "named,=,", "-,,!", "-,,,"} {
		_, err := parseSite(bad)
		assert.Error(t, err, "%q", bad)
	}
}

// TestHostsOfRanks: what rank 0 publishes stays small in a large job whose ranks are placed regularly.
func TestHostsOfRanks(t *testing.T) {
	one, err := boot.Local(1)
	require.NoError(t, err)
	b := one[0]
	of := make([]string, 100_000)
	for rank := range of {
		of[rank] = fmt.Sprintf("node%d/%x", rank%1000, sha256.Sum256([]byte{byte(rank % 1000), byte(rank % 1000 >> 8)}))[:30]
	}
	told, err := tellHosts(t.Context(), b, of)
	require.NoError(t, err)
	require.True(t, told)
	require.NoError(t, b.Fence(t.Context()))
	_, err = learnHosts(t.Context(), b)
	require.ErrorContains(t, err, "of 100000 processes of 1")

	for rank := range of { // too many different hosts to publish
		of[rank] = fmt.Sprintf("%x", sha256.Sum256([]byte(strconv.Itoa(rank))))
	}
	told, err = tellHosts(t.Context(), b, of)
	require.NoError(t, err)
	require.False(t, told)

	for _, bad := range []string{"", "x", packText(hostsText{Hosts: []string{"a"}, Of: []int{1}}), packText(hostsText{Of: []int{0}}), packText(hostsText{Hosts: []string{"a"}, Of: []int{-1}})} {
		boots, err := boot.Local(1)
		require.NoError(t, err)
		require.NoError(t, tellPieces(t.Context(), boots[0], hostsKey, bad))
		require.NoError(t, boots[0].Fence(t.Context()))
		_, err = learnHosts(t.Context(), boots[0])
		require.Error(t, err, "%q", bad)
	}
}
