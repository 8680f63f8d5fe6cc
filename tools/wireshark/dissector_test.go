package wireshark

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/need"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/secure"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
	viawire "github.com/viaduct-hpc/viaduct/internal/via/wire"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
	"github.com/viaduct-hpc/viaduct/methods/via"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// provider is a udp.Provider under a name of its own, whose datagrams are captured.
type provider struct {
	udp.Provider
	name    string
	capture *capture
}

func (p *provider) Name() string { return p.name }

func (p *provider) Open(cfg nic.Config) (nic.Device, error) {
	p.Datagrams = p.capture.open
	return p.Provider.Open(cfg)
}

var (
	insecure = &provider{name: "insecure", capture: &capture{}, Provider: udp.Provider{Insecure: true}}
	sealed   = &provider{name: "sealed", capture: &capture{}, Provider: udp.Provider{Key: secure.Source{Text: "correct horse battery staple"}}}
	keyless  = &provider{name: "keyless", capture: sealed.capture, Provider: udp.Provider{Insecure: true}}
	static   = &provider{name: "static", capture: &capture{}, Provider: udp.Provider{Identity: identity}}
	stranger = &provider{name: "stranger", capture: static.capture, Provider: udp.Provider{Insecure: true}}
)

// identity is one that knows itself as client and server. Its public key is that of the private key.
var identity = secure.IdentitySource{
	Private: bytes.Repeat([]byte{9}, 32), Clients: "me " + publicKey, Servers: "* " + publicKey,
}

const publicKey = "V9tLNZ8jrl4Ubk4lEgVnBHIlBjSMFQwUdT0Mkz0E1CE="

func TestMain(m *testing.M) {
	for _, p := range []*provider{insecure, sealed, keyless, static, stranger} {
		bmi.Register(via.Driver(p))
	}
	goleak.VerifyTestMain(m)
}

// talk makes two endpoints send packets of every kind.
func talk(t *testing.T, p *provider) (address string) {
	ctx := t.Context()
	server, err := bmi.Open(ctx, bmi.Config{Listen: []string{"via+" + p.name + "://127.0.0.1:0"}})
	require.NoError(t, err)
	client, err := bmi.Open(ctx, bmi.Config{})
	require.NoError(t, err)
	to, err := client.Lookup(server.Addresses()[0])
	require.NoError(t, err)
	out, err := client.OpenContext()
	require.NoError(t, err)
	in, err := server.OpenContext()
	require.NoError(t, err)
	require.NoError(t, out.SendUnexpected(ctx, to, 0, 7, []byte("hello")))
	var hello [1]bmi.Unexpected
	require.Eventually(t, func() bool {
		n, err := server.TestUnexpected(hello[:], 10*time.Millisecond)
		return err == nil && n == 1
	}, wallclock.Patience, time.Millisecond)
	from := hello[0].From
	hello[0].Release()
	for tag, size := range []int{100, 5000, 100_000} { // on each lane, and by RDMA
		done := make(chan error, 1)
		go func() { done <- out.Send(ctx, to, bmi.Tag(tag), make([]byte, size)) }()
		_, err := in.Recv(ctx, from, bmi.Tag(tag), make([]byte, size))
		require.NoError(t, err)
		require.NoError(t, <-done)
	}
	for shared := p != insecure; !shared; shared = p.capture.some(sharesAPacket) {
		burst(t, out, in, to, from)
	}
	address = strings.TrimPrefix(server.Addresses()[0], "via+"+p.name+"://")
	switch p {
	case sealed:
		refused(t, keyless, address)
	case static:
		refused(t, stranger, address)
	}
	require.NoError(t, client.Close())
	require.NoError(t, server.Close())
	return address
}

// burst posts several sends before it tests for the first. Unless something polls
// meanwhile, all but the first share a packet.
func burst(t *testing.T, out, in *bmi.Context, to, from bmi.Addr) {
	const sends = 5
	for i := range sends {
		_, err := out.PostSend(to, 99, make([]byte, i), nil)
		require.NoError(t, err)
	}
	for i := range sends {
		n, err := in.Recv(t.Context(), from, 99, make([]byte, sends))
		require.NoError(t, err)
		require.Equal(t, i, n)
	}
}

// sharesAPacket reports whether a datagram of an insecure connection has several
// segments.
func sharesAPacket(d datagram) bool {
	_, payload, err := wire.ParsePacket(d.payload)
	if err != nil {
		return false
	}
	var transport wire.Transport
	segments, err := transport.Parse(payload[:len(payload)-wire.SumLen])
	if err != nil || segments == nil {
		return false
	}
	_, rest, err := wire.ParseSegment(segments, &wire.Segment{})
	return err == nil && rest != nil
}

// refused asks for a connection without the key.
func refused(t *testing.T, p *provider, address string) {
	ep, err := bmi.Open(t.Context(), bmi.Config{})
	require.NoError(t, err)
	to, err := ep.Lookup("via+" + p.name + "://" + address)
	require.NoError(t, err)
	c, err := ep.OpenContext()
	require.NoError(t, err)
	require.ErrorIs(t, c.SendUnexpected(t.Context(), to, 0, 7, []byte("hello")), bmi.ErrRefused)
	require.NoError(t, ep.Close())
}

// fields are those that tshark must print, without "viaduct_udp." before them, each as
// often as it occurs.
var fields = []string{
	"kind", "lane", "to", "number", "mode", "code", "from", "data_port", "seq", "ack", "segment", "segment.length", "message", "total", "offset",
	"addr", "handle", "via.type", "via.tag", "via.seq", "checksum.good", "sealed", "name",
}

// dissect runs tshark, and returns the fields that each datagram has.
func dissect(t *testing.T, all []datagram) []map[string]string {
	tshark := need.Program(t, "tshark")
	file := filepath.Join(t.TempDir(), "capture.pcap")
	require.NoError(t, os.WriteFile(file, pcap(t, all), 0o600))
	args := []string{"-r", file, "-X", "lua_script:viaduct-udp.lua", "-T", "fields", "-E", "separator=|", "-E", "occurrence=a", "-E", "aggregator=,"}
	for _, f := range fields {
		args = append(args, "-e", "viaduct_udp."+f)
	}
	var complaints strings.Builder
	cmd := exec.CommandContext(t.Context(), tshark, args...)
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	require.NoError(t, err, complaints.String())
	assert.NotContains(t, complaints.String(), "Lua Error")
	assert.NotContains(t, string(out), "Lua Error")
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	require.Len(t, lines, len(all))
	var dissected []map[string]string
	for _, line := range lines {
		values := strings.Split(line, "|")
		require.Len(t, values, len(fields), line)
		m := map[string]string{}
		for i, v := range values {
			if v != "" {
				m[fields[i]] = v
			}
		}
		dissected = append(dissected, m)
	}
	return dissected
}

func hex32(n uint32) string { return fmt.Sprintf("0x%08x", n) }
func hex64(n uint64) string { return fmt.Sprintf("0x%016x", n) }
func dec[N ~uint8 | ~uint16 | ~uint32 | ~uint64](n N) string {
	return fmt.Sprint(uint64(n))
}

// expect returns what the dissector must show of a datagram, according to package wire.
func expect(t *testing.T, b []byte, readable bool) map[string]string {
	kind, ok := wire.KindOf(b)
	require.True(t, ok)
	want := map[string]string{"kind": dec(kind)}
	switch kind {
	case wire.KindInit:
		m, err := wire.ParseInit(b)
		require.NoError(t, err)
		want["mode"], want["from"], want["data_port"] = dec(m.Mode), hex32(m.From), dec(m.Port)
		switch {
		case m.Cookie == wire.Cookie{}:
		case m.Mode != wire.ModeInsecure:
			want["sealed"] = fmt.Sprintf("%x", m.Sealed)
		default:
			want["checksum.good"] = "1"
		}
	case wire.KindRetry:
		m, err := wire.ParseRetry(b)
		require.NoError(t, err)
		want["to"] = hex32(m.To)
	case wire.KindResponse:
		m, err := wire.ParseResponse(b)
		require.NoError(t, err)
		want["mode"], want["to"], want["from"], want["data_port"] = dec(m.Mode), hex32(m.To), hex32(m.From), dec(m.Port)
		if m.Mode != wire.ModeInsecure {
			want["sealed"] = fmt.Sprintf("%x", m.Sealed)
		} else {
			want["checksum.good"] = "1"
		}
	case wire.KindRefused:
		m, err := wire.ParseRefused(b)
		require.NoError(t, err)
		want["code"], want["to"] = dec(m.Code), hex32(m.To)
	case wire.KindReset:
		m, err := wire.ParseReset(b)
		require.NoError(t, err)
		want["to"] = hex32(m.To)
	case wire.KindPacket:
		m, payload, err := wire.ParsePacket(b)
		require.NoError(t, err)
		want["lane"], want["to"], want["number"] = dec(m.Lane), hex32(m.To), dec(m.Number)
		if !readable {
			want["sealed"] = fmt.Sprintf("%x", payload)
			break
		}
		want["checksum.good"] = "1"
		expectPayload(t, payload[:len(payload)-wire.SumLen], want)
	}
	return want
}

func expectPayload(t *testing.T, payload []byte, want map[string]string) {
	var transport wire.Transport
	rest, err := transport.Parse(payload)
	require.NoError(t, err)
	if transport.Flags&wire.FlagAck != 0 {
		want["ack"] = dec(transport.Ack)
	}
	if transport.Flags&wire.FlagSegment == 0 {
		return
	}
	want["seq"] = dec(transport.Seq)
	add := func(field, value string) {
		if before := want[field]; before != "" {
			value = before + "," + value
		}
		want[field] = value
	}
	for rest != nil {
		var s wire.Segment
		var data []byte
		data, rest, err = wire.ParseSegment(rest, &s)
		require.NoError(t, err)
		add("segment", dec(s.Kind))
		add("message", dec(s.Number))
		add("total", dec(s.Total))
		add("offset", dec(s.Offset))
		if rest != nil {
			add("segment.length", fmt.Sprint(len(data)))
		}
		if s.HeaderLen() == wire.SegmentRemoteLen {
			add("addr", hex64(s.Addr))
			add("handle", hex64(s.Handle))
		}
		if s.Kind == wire.SegmentSend && s.Offset == 0 {
			h, _, err := viawire.ParseHeader(data)
			require.NoError(t, err)
			add("via.type", dec(h.Bits.Type()))
			add("via.tag", dec(h.Bits.Tag()))
			add("via.seq", dec(h.Seq))
		}
	}
}

// count counts datagrams by the value of a field.
func count(dissected []map[string]string, field string) map[string]int {
	n := map[string]int{}
	for _, m := range dissected {
		n[m[field]]++
	}
	return n
}

// countStarts counts datagrams whose values of a field start with these, in which each
// datagram may have the field several times.
func countStarts(dissected []map[string]string, field, values string) (n int) {
	for _, m := range dissected {
		if v := m[field]; v == values || strings.HasPrefix(v, values+",") {
			n++
		}
	}
	return n
}

func TestInsecureTrafficIsShownInFull(t *testing.T) {
	talk(t, insecure)
	all := insecure.capture.take()
	dissected := dissect(t, all)
	for i, d := range all {
		assert.Equal(t, expect(t, d.payload, true), dissected[i], "datagram %d: %x", i, d.payload[:min(len(d.payload), 120)])
	}
	for kind, name := range map[string]string{"1": "INIT", "2": "RETRY", "3": "RESPONSE", "5": "PACKET"} {
		assert.NotZero(t, count(dissected, "kind")[kind], name)
	}
	for kind, name := range map[string]string{"1": "SEND", "3": "READ_REQUEST", "4": "READ_DATA", "6": "BYE", "1,1": "two SENDs"} {
		assert.NotZero(t, countStarts(dissected, "segment", kind), name)
	}
	assert.NotZero(t, countStarts(dissected, "via.type", "7"), "RTS")
}

func TestDamageIsShown(t *testing.T) {
	talk(t, insecure)
	all := insecure.capture.take()
	damaged := 0
	for i := range all {
		if b := all[i].payload; wire.Kind(b[0]) == wire.KindPacket {
			b[len(b)-1] ^= 1
			damaged++
		}
	}
	assert.Equal(t, damaged, count(dissect(t, all), "checksum.good")["0"])
}

func TestSealedTrafficShowsWhatIsInTheClear(t *testing.T) {
	for _, p := range []*provider{sealed, static} {
		talk(t, p)
		all := p.capture.take()
		all = append(all, datagram{from: all[0].to, to: all[0].from, payload: (&wire.Reset{To: 7}).Append(nil)})
		dissected := dissect(t, all)
		for i, d := range all {
			assert.Equal(t, expect(t, d.payload, false), dissected[i], "%s, datagram %d", p.name, i)
		}
		for kind := wire.KindInit; kind <= wire.KindReset; kind++ {
			assert.NotZero(t, count(dissected, "kind")[dec(kind)], "%s, %v", p.name, kind)
		}
	}
}

// TestOthersAreLeftAlone: a datagram that only resembles one of ours is not shown as one.
func TestOthersAreLeftAlone(t *testing.T) {
	one := datagram{from: nowhere, to: nowhere}
	var all []datagram
	for _, text := range []string{"\x01", "hello, world, hello, world", strings.Repeat("\x05", 100), "\x06\x00\x00\x00\x00\x00\x00\x00" + strings.Repeat("x", 16)} {
		one.payload = []byte(text)
		all = append(all, one)
	}
	for _, m := range dissect(t, all) {
		assert.Empty(t, m)
	}
}
