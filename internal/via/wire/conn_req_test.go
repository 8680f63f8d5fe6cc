package wire

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/viaduct-hpc/viaduct/matchbits"
)

func connReqSamples() []sample {
	listener := ConnReq{
		Version: Version, Session: 0x1122334455667788, Attempt: 3,
		Terms: Terms{PeerID: 0x12345, Credits: 64, MTU: 8192, Eager: 16384, Flags: ConnRDMARead | ConnRDMAWrite}, Name: "alpha",
	}
	client := listener
	client.Name, client.Flags = "", ConnRDMARead
	limits := ConnReq{
		Version: Version, Session: ^uint64(0), Attempt: ^uint64(0),
		Terms: Terms{PeerID: uint32(matchbits.PeerIDMax), Credits: CreditsMax, MTU: MTUMax, Eager: EagerBytesLimit, Flags: connFlagsEnd - 1}, Name: strings.Repeat("n", NameMax),
	}
	least := ConnReq{Version: Version, Session: 1, Terms: Terms{PeerID: 1, Credits: CreditsMin, MTU: MTUMin}}
	var samples []sample
	for _, c := range []struct {
		name, comment string
		m             ConnReq
	}{
		{"listener", "From a process that can be connected to.", listener},
		{"client", "From one that cannot, on a NIC that only reads.", client},
		{"largest", "Every field at its limit.", limits},
		{"smallest", "", least},
	} {
		samples = append(samples, sample{
			name: c.name, comment: c.comment, value: c.m, body: c.m.Append(nil),
			header: Header{Bits: matchbits.Make(matchbits.TypeConnReq, 0, 0, 0), Seq: 1},
		})
	}
	return samples
}

func TestConnReq(t *testing.T) { checkSamples(t, "conn_req", connReqSamples()) }

func TestConnReqRefusesTheImpossible(t *testing.T) {
	s := connReqSamples()[0]
	refuses(t, s, "session 0", put64(4, 0))
	refuses(t, s, "peer id 0", put32(20, 0))
	refuses(t, s, "peer id of 21 bits", put32(20, 1<<20))
	refuses(t, s, "too few credits", put32(24, CreditsMin-1))
	refuses(t, s, "too many credits", put32(24, CreditsMax+1))
	refuses(t, s, "small MTU", put32(28, MTUMin-1))
	refuses(t, s, "large MTU", put32(28, MTUMax+1))
	refuses(t, s, "large eager messages", put32(32, EagerBytesLimit+1))
	refuses(t, s, "unknown flag", put32(36, uint32(connFlagsEnd)))
	refuses(t, s, "name over the limit", put32(40, NameMax+1))
	refuses(t, s, "name length with the highest bit", put32(40, 1<<31))
	refuses(t, s, "reserved word", put32(44, 1))
}

// The fixed part of another version is read, and nothing else is judged, so
// that the answer can say what is wrong.
func TestConnReqOfAnotherVersion(t *testing.T) {
	b := make([]byte, connReqFixed+500)
	for i := range b {
		b[i] = 0xff
	}
	binary.LittleEndian.PutUint32(b, Version+1)
	m, err := ParseConnReq(b)
	assert.NoError(t, err)
	assert.EqualValues(t, Version+1, m.Version)
	assert.Equal(t, ^uint64(0), m.Session)
	assert.Equal(t, ^uint64(0), m.Attempt)
	assert.Empty(t, m.Name)
	for n := range connReqFixed {
		_, err := ParseConnReq(b[:n])
		assert.ErrorIs(t, err, ErrShort, "%d bytes", n)
	}
}

// A handshake packet fits into the smallest packet that a side may announce.
func TestHandshakeFitsTheSmallestPacket(t *testing.T) {
	for _, s := range append(connReqSamples(), connAckSamples()...) {
		assert.LessOrEqual(t, len(s.bytes()), MTUMin, s.name)
	}
}

func TestConnReqString(t *testing.T) {
	assert.Equal(t, `version=1 session=0x1122334455667788 attempt=0x3 id=74565 credits=64 mtu=8192 eager=16384 flags=0x3 name="alpha"`,
		connReqSamples()[0].value.String())
}
