package wire

import (
	"bytes"
	"testing"

	"github.com/viaduct-hpc/viaduct/matchbits"
)

// everySample is one list of all packets that the tests know.
func everySample() (all []sample) {
	for _, samples := range [][]sample{
		connReqSamples(), connAckSamples(), eagerFirstSamples(), eagerNextSamples(), rtsSamples(), ctsSamples(),
		dataSamples(), finSamples(), creditSamples(), byeSamples(), keepAliveSamples(),
	} {
		all = append(all, samples...)
	}
	return all
}

// Every kind that may be sent has samples, and so a golden file and a seed below.
func TestEveryKindHasSamples(t *testing.T) {
	seen := make(map[matchbits.Type]bool)
	for _, s := range everySample() {
		seen[s.header.Bits.Type()] = true
	}
	for kind := matchbits.TypeConnReq; kind.Valid(); kind++ {
		if !seen[kind] {
			t.Errorf("no sample of %v", kind)
		}
	}
}

// FuzzPacket: no packet makes a parser panic, and an accepted packet is encoded to the same bytes
// again, so the parsers ignore nothing in a packet. Of a handshake packet of another version only
// the fixed part counts.
func FuzzPacket(f *testing.F) {
	for _, s := range everySample() {
		f.Add(s.bytes())
	}
	f.Add((&sample{header: header(matchbits.TypeConnAck, 0, 0), body: (&ConnAck{Version: 9, Reason: 1}).Append(nil)}).bytes())
	f.Add((&sample{header: header(matchbits.TypeConnReq, 0, 0), body: (&ConnReq{Version: 9, Session: 1}).Append(nil)}).bytes())
	f.Fuzz(func(t *testing.T, packet []byte) {
		d, err := decode(packet)
		if err != nil {
			return
		}
		_ = d.value.String()
		_ = d.header.String()
		again := d.again()
		switch m := d.value.(type) {
		case ConnReq:
			if m.Version != Version {
				again, packet = again[:HeaderLen+40], packet[:HeaderLen+40]
			}
		case ConnAck:
			if m.Reason != 0 {
				packet = packet[:HeaderLen+connAckLen]
			}
		}
		if !bytes.Equal(packet, again) {
			t.Fatalf("%T %v\n  was %x\n  is  %x", d.value, d.value, packet, again)
		}
	})
}

// FuzzLinkReq does the same with the private data of a connect request.
func FuzzLinkReq(f *testing.F) {
	for _, m := range linkReqs() {
		f.Add(m.Append(nil))
	}
	f.Fuzz(func(t *testing.T, private []byte) {
		m, err := ParseLinkReq(private)
		if err != nil {
			return
		}
		_ = m.String()
		if m.Version != Version {
			private = private[:linkReqFixed]
		}
		if again := m.Append(nil); !bytes.Equal(private, again) {
			t.Fatalf("%v\n  was %x\n  is  %x", m, private, again)
		}
	})
}
