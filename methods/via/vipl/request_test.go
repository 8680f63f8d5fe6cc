package vipl

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

func TestRequestGoldenBytes(t *testing.T) {
	r := request{
		kind: kindPeer, reliability: ReliableDelivery, flags: flagRemoteWrite | flagRemoteRead,
		maxTransfer: 0x01020304, to: "there", from: "me", private: []byte{0xAA, 0xBB},
	}
	want := []byte{1, 2, 1, 3, 4, 3, 2, 1, 5, 2, 't', 'h', 'e', 'r', 'e', 'm', 'e', 0xAA, 0xBB}
	assert.Equal(t, want, r.append(nil))
	got, err := parseRequest(want)
	require.NoError(t, err)
	assert.Equal(t, r, got)
	for i := range requestHeader + 7 {
		_, err := parseRequest(want[:i])
		require.ErrorIs(t, err, errRequest, "the first %d bytes", i)
	}
}

func TestRequestLimits(t *testing.T) {
	disc := strings.Repeat("d", DiscriminatorMax)
	largest := request{kind: kindClient, to: disc, from: disc, private: make([]byte, PrivateMax)}.append(nil)
	assert.Len(t, largest, nic.PrivateDataMax, "the largest request fits exactly")
	_, err := parseRequest(largest)
	require.NoError(t, err)

	good := request{kind: kindClient, to: "a"}.append(nil)
	for offset, value := range map[int]byte{0: 2, 1: 3, 2: 3, 3: 4, 8: 49, 9: 255} {
		bad := append([]byte(nil), good...)
		bad[offset] = value
		_, err := parseRequest(bad)
		require.ErrorIs(t, err, errRequest, "byte %d is %d", offset, value)
	}
	_, err = parseRequest(append(make([]byte, 0, 256), good...)[:1])
	require.Error(t, err)
	_, err = parseRequest(append(good, make([]byte, PrivateMax+1)...))
	require.Error(t, err)
	_, err = parseRequest(make([]byte, nic.PrivateDataMax+1))
	require.Error(t, err)
}

func FuzzParseRequest(f *testing.F) {
	f.Add(request{kind: kindClient, to: "a", from: "b", private: []byte("x")}.append(nil))
	f.Add(request{kind: kindPeer}.append(nil))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := parseRequest(b)
		if err != nil {
			return
		}
		assert.Equal(t, b, r.append(nil), "what is accepted has one form")
	})
}
