package wire

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/viaduct-hpc/viaduct/matchbits"
)

func connAckSamples() []sample {
	accepted := ConnAck{
		Version: Version, Session: 0x1122334455667788, Attempt: 3, Latest: 2,
		Terms: Terms{PeerID: 0x12345, Credits: 64, MTU: 8192, Eager: 16384, Flags: ConnRDMARead | ConnRDMAWrite},
	}
	limits := ConnAck{
		Version: Version, Session: ^uint64(0), Attempt: ^uint64(0), Latest: ^uint64(0),
		Terms: Terms{PeerID: uint32(matchbits.PeerIDMax), Credits: CreditsMax, MTU: MTUMax, Eager: EagerBytesLimit, Flags: connFlagsEnd - 1},
	}
	least := ConnAck{Version: Version, Session: 1, Terms: Terms{PeerID: 1, Credits: CreditsMin, MTU: MTUMin}}
	var samples []sample
	for _, c := range []struct {
		name string
		m    ConnAck
	}{{"accepted", accepted}, {"largest", limits}, {"smallest", least}} {
		samples = append(samples, sample{
			name: c.name, value: c.m, body: c.m.Append(nil),
			header: Header{Bits: matchbits.Make(matchbits.TypeConnAck, 1, 0, 0), Seq: 1},
		})
	}
	return samples
}

func TestConnAck(t *testing.T) { checkSamples(t, "conn_ack", connAckSamples()) }

func TestConnAckRefusesTheImpossible(t *testing.T) {
	s := connAckSamples()[0]
	refuses(t, s, "accepted in another version", put32(0, Version+1))
	refuses(t, s, "session 0", put64(8, 0))
	refuses(t, s, "peer id 0", put32(32, 0))
	refuses(t, s, "peer id of 21 bits", put32(32, 1<<20))
	refuses(t, s, "too few credits", put32(36, CreditsMin-1))
	refuses(t, s, "too many credits", put32(36, CreditsMax+1))
	refuses(t, s, "small MTU", put32(40, MTUMin-1))
	refuses(t, s, "large MTU", put32(40, MTUMax+1))
	refuses(t, s, "large eager messages", put32(44, EagerBytesLimit+1))
	refuses(t, s, "unknown flag", put32(48, uint32(connFlagsEnd)))
}

// A refusal may come from another version: only its fixed part counts.
func TestConnAckThatRefuses(t *testing.T) {
	for _, version := range []uint32{Version, Version + 1} {
		m := ConnAck{Version: version, Reason: 1, Session: 9, Attempt: 3}
		b := m.Append(nil)
		got, err := ParseConnAck(b)
		assert.NoError(t, err)
		assert.Equal(t, m, got)
		got, err = ParseConnAck(append(b, "what a later version adds"...))
		assert.NoError(t, err)
		assert.Equal(t, m, got)
		for n := range connAckLen {
			_, err := ParseConnAck(b[:n])
			assert.ErrorIs(t, err, ErrShort, "%d bytes", n)
		}
	}
}

func TestConnAckString(t *testing.T) {
	assert.Equal(t, "version=1 reason=0 session=0x1122334455667788 attempt=0x3 latest=0x2 id=74565 credits=64 mtu=8192 eager=16384 flags=0x3",
		connAckSamples()[0].value.String())
}
