package wire

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/viaduct-hpc/viaduct/internal/golden"
)

func linkReqs() []LinkReq {
	return []LinkReq{
		{Version: Version, Session: 0x1122334455667788, Attempt: 3, Name: "alpha"},
		{Version: Version, Session: 1, Attempt: 1},
		{Version: Version, Session: ^uint64(0), Attempt: ^uint64(0), Name: strings.Repeat("n", NameMax)},
	}
}

func TestLinkReq(t *testing.T) {
	var vectors []golden.Vector
	for i, name := range []string{"listener", "client", "largest"} {
		m := linkReqs()[i]
		b := m.Append(nil)
		vectors = append(vectors, golden.Vector{Name: name, Comment: m.String(), Bytes: b})
		got, err := ParseLinkReq(b)
		assert.NoError(t, err)
		assert.Equal(t, m, got)
		for n := range linkReqFixed {
			_, err := ParseLinkReq(b[:n])
			assert.ErrorIs(t, err, ErrShort, "%d bytes", n)
		}
	}
	golden.CheckVectors(t, "testdata/link_req.golden", vectors)
}

func TestLinkReqRefusesTheImpossible(t *testing.T) {
	for _, m := range []LinkReq{
		{Version: Version, Session: 0, Attempt: 1},
		{Version: Version, Session: 1, Attempt: 0},
		{Version: Version + 1, Session: 0, Attempt: 1},
		{Version: Version + 1, Session: 1, Attempt: 0},
	} {
		_, err := ParseLinkReq(m.Append(nil))
		assert.ErrorIs(t, err, ErrInvalid, m.String())
	}
	long := LinkReq{Version: Version, Session: 1, Attempt: 1, Name: strings.Repeat("n", NameMax+1)}
	_, err := ParseLinkReq(long.Append(nil))
	assert.ErrorIs(t, err, ErrLong)
}

// The bytes that another version puts after the fixed part need not be a name, and may be longer
// than one. The error must be about the version, not about these bytes.
func TestLinkReqOfAnotherVersion(t *testing.T) {
	other := LinkReq{Version: Version + 1, Session: 7, Attempt: 8, Name: strings.Repeat("\xff", NameMax+1)}
	got, err := ParseLinkReq(other.Append(nil))
	assert.NoError(t, err)
	assert.Equal(t, LinkReq{Version: Version + 1, Session: 7, Attempt: 8}, got)
}

func TestLinkReqString(t *testing.T) {
	assert.Equal(t, `version=1 session=0x1122334455667788 attempt=0x3 name="alpha"`, linkReqs()[0].String())
}
