package wire

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/golden"
	"github.com/viaduct-hpc/viaduct/matchbits"
)

// A sample is one packet of a kind, with what it says.
type sample struct {
	name, comment string
	header        Header
	value         fmt.Stringer // what decode returns for it
	body          []byte       // as the kind's encoder wrote it
	// least is set for kinds that end with a payload of any length: a packet
	// of at least so many bytes is well formed, though another one.
	least int
}

// header makes the header of a sample: sequence number 5, from peer 7.
func header(kind matchbits.Type, tag, aux uint32) Header {
	return Header{Bits: matchbits.Make(kind, 2, 7, tag), Seq: 5, Aux: aux}
}

func (s sample) bytes() []byte { return append(s.header.Append(nil), s.body...) }

// checkSamples checks everything that is the same for every kind: the exact
// bytes, that the bytes in the file read as the values, and that no packet can
// be cut short or, unless it ends with a payload, be longer.
func checkSamples(t *testing.T, file string, samples []sample) {
	t.Helper()
	var vectors []golden.Vector
	for _, s := range samples {
		comment := fmt.Sprintf("%v\n%v", s.header, s.value)
		if s.comment != "" {
			comment = s.comment + "\n" + comment
		}
		vectors = append(vectors, golden.Vector{Name: s.name, Comment: comment, Bytes: s.bytes()})
	}
	path := "testdata/" + file + ".golden"
	golden.CheckVectors(t, path, vectors)
	inFile := golden.Load(t, path)
	require.Len(t, inFile, len(samples))
	for i, s := range samples {
		b := inFile[i].Bytes
		d, err := decode(b)
		if assert.NoError(t, err, s.name) {
			assert.Equal(t, s.header, d.header, s.name)
			assert.Equal(t, s.value, d.value, s.name)
			assert.Equal(t, b, d.again(), "%s does not survive a round trip", s.name)
		}
		need := len(b)
		if s.least > 0 {
			need = s.least
		}
		for n := range need {
			_, err := decode(b[:n])
			assert.ErrorIs(t, err, ErrShort, "%s, %d of %d bytes", s.name, n, len(b))
		}
		if s.least == 0 {
			_, err = decode(append(b, 0))
			assert.ErrorIs(t, err, ErrLong, s.name)
		}
	}
}

// refuses checks that a packet with one field changed is impossible.
func refuses(t *testing.T, s sample, what string, change func(header *Header, body []byte)) {
	t.Helper()
	s.body = append([]byte(nil), s.body...)
	change(&s.header, s.body)
	_, err := decode(s.bytes())
	assert.ErrorIs(t, err, ErrInvalid, "%s: %s", s.name, what)
}

// accepts checks the other side of a limit.
func accepts(t *testing.T, s sample, what string, change func(header *Header, body []byte)) {
	t.Helper()
	s.body = append([]byte(nil), s.body...)
	change(&s.header, s.body)
	d, err := decode(s.bytes())
	if assert.NoError(t, err, "%s: %s", s.name, what) {
		assert.Equal(t, s.bytes(), d.again(), "%s: %s", s.name, what)
	}
}

// put32 and put64 are changes of one field of a body.
func put32(off int, v uint32) func(*Header, []byte) {
	return func(_ *Header, body []byte) { binary.LittleEndian.PutUint32(body[off:], v) }
}

func put64(off int, v uint64) func(*Header, []byte) {
	return func(_ *Header, body []byte) { binary.LittleEndian.PutUint64(body[off:], v) }
}

// aux is a change of the aux word.
func aux(v uint32) func(*Header, []byte) {
	return func(h *Header, _ []byte) { h.Aux = v }
}

// decoded is a packet that was read by its kind's Parse.
type decoded struct {
	header Header
	value  fmt.Stringer
	aux    uint32 // as the value packs it
	body   []byte // as the value's encoder writes it, and the payload
}

// again is the packet that the value is encoded to.
func (d decoded) again() []byte {
	d.header.Aux = d.aux
	return append(d.header.Append(nil), d.body...)
}

// decode reads a packet of any kind.
func decode(packet []byte) (d decoded, err error) {
	h, body, err := ParseHeader(packet)
	if err != nil {
		return d, err
	}
	d = decoded{header: h, aux: h.Aux}
	switch h.Bits.Type() {
	case matchbits.TypeConnReq:
		var m ConnReq
		m, err = ParseConnReq(body)
		d.value, d.body = m, m.Append(nil)
	case matchbits.TypeConnAck:
		var m ConnAck
		m, err = ParseConnAck(body)
		d.value, d.body = m, m.Append(nil)
	case matchbits.TypeExpected, matchbits.TypeUnexpected:
		d.body = body
		if IsNext(h.Aux) {
			m := ParseEagerNext(h.Aux)
			d.value, d.aux = m, m.Aux()
		} else {
			m := ParseEagerFirst(h.Aux)
			d.value, d.aux = m, m.Aux()
		}
	case matchbits.TypeRTS:
		m := &RTS{}
		err = m.Parse(body)
		d.value, d.body = m, m.Append(nil)
		assertLen(m.Len(), d.body)
	case matchbits.TypeCTS:
		m := &CTS{}
		err = m.Parse(body)
		d.value, d.body = m, m.Append(nil)
		assertLen(m.Len(), d.body)
	case matchbits.TypeData:
		var m Data
		var payload []byte
		m, payload, err = ParseData(body)
		d.value, d.body = m, append(m.Append(nil), payload...)
	case matchbits.TypeFin:
		var m Fin
		m, err = ParseFin(body)
		d.value, d.body = m, m.Append(nil)
	case matchbits.TypeCredit:
		var m Credit
		m, err = ParseCredit(h.Aux, body)
		d.value, d.aux = m, m.Aux()
	case matchbits.TypeCancel:
		var m Bye
		m, err = ParseBye(h.Aux, body)
		d.value, d.aux = m, m.Aux()
	case matchbits.TypeKeepAlive:
		var m KeepAlive
		m, err = ParseKeepAlive(h.Aux, body)
		d.value, d.aux = m, m.Aux()
	default:
		err = ErrInvalid
	}
	return d, err
}

// assertLen checks that Len told the truth.
func assertLen(n int, body []byte) {
	if n != len(body) {
		panic(fmt.Sprintf("Len says %d, Append wrote %d bytes", n, len(body)))
	}
}
