package secure

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A sealer makes records of a connection that crypto/tls would not make: RFC
// 8446, sections 5.2 and 7.
type sealer struct {
	t      *testing.T
	secret []byte
	aead   cipher.AEAD
	iv     []byte
	seq    uint64
}

// expand is HKDF-Expand-Label with an empty context.
func expand(t *testing.T, secret []byte, label string, size int) []byte {
	label = "tls13 " + label
	info := append([]byte{byte(size >> 8), byte(size), byte(len(label))}, label...)
	out, err := hkdf.Expand(sha256.New, secret, string(append(info, 0)), size)
	require.NoError(t, err)
	return out
}

func (s *sealer) use(secret []byte) {
	block, err := aes.NewCipher(expand(s.t, secret, "key", 16))
	require.NoError(s.t, err)
	s.aead, err = cipher.NewGCM(block)
	require.NoError(s.t, err)
	s.secret, s.iv, s.seq = secret, expand(s.t, secret, "iv", 12), 0
}

// record seals one record.
func (s *sealer) record(kind byte, data []byte) []byte {
	nonce := bytes.Clone(s.iv)
	binary.BigEndian.PutUint64(nonce[4:], binary.BigEndian.Uint64(nonce[4:])^s.seq)
	s.seq++
	size := len(data) + 1 + s.aead.Overhead()
	head := []byte{23, 3, 3, byte(size >> 8), byte(size)}
	return s.aead.Seal(head, nonce, append(bytes.Clone(data), kind), head)
}

// update requests new keys for both directions, and switches our sending direction to its new keys.
func (s *sealer) update() []byte {
	r := s.record(22, []byte{24, 0, 0, 1, 1})
	s.use(expand(s.t, s.secret, "traffic upd", 32))
	return r
}

// sealed joins a pair and takes over what the dialler sends.
func sealed(t *testing.T) (client, server *side, a, b *peer, s *sealer) {
	cfg, log := secretConfig(t, "k"), &bytes.Buffer{}
	cfg.client.KeyLogWriter = log
	n := newNetwork(1)
	client, server = newSide(t, n.stack(), cfg), newSide(t, n.stack(), cfg)
	a, b = join(t, client, server)
	if suite := a.Stream.(*stream).conn.ConnectionState().CipherSuite; suite != tls.TLS_AES_128_GCM_SHA256 {
		t.Skip("this machine prefers another cipher suite: ", tls.CipherSuiteName(suite))
	}
	_, line, ok := strings.Cut(log.String(), "CLIENT_TRAFFIC_SECRET_0 ")
	require.True(t, ok)
	var random, text string
	_, err := fmt.Sscanf(line, "%s %s", &random, &text)
	require.NoError(t, err)
	secret, err := hex.DecodeString(text)
	require.NoError(t, err)
	s = &sealer{t: t}
	s.use(secret)
	return client, server, a, b, s
}

// raw sends bytes that bypass TLS.
func (p *peer) raw(b []byte) {
	k, err := p.Stream.(*stream).inner.Send([][]byte{b})
	require.NoError(p.side.t, err)
	require.Equal(p.side.t, len(b), k)
}

func TestKeyUpdates(t *testing.T) {
	client, server, a, b, s := sealed(t)
	for i := range 50 {
		data := []byte(fmt.Sprint("message ", i))
		update := s.update()
		b.got = nil
		a.raw(update[:i%len(update)]) // also in two pieces
		until(t, "the first piece is read", func() bool { b.pump(); return !b.readable }, server)
		a.raw(append(update[i%len(update):], s.record(23, data)...))
		until(t, "data behind the update arrives", func() bool { b.pump(); return len(b.got) == len(data) }, client, server)
		require.Equal(t, data, b.got)
		require.NoError(t, b.err)
		exchange(t, b, a, data)
	}
}

// TestFloodOfKeyUpdates has a peer that requests answers and reads none.
func TestFloodOfKeyUpdates(t *testing.T) {
	client, server, a, b, s := sealed(t)
	n := client.stack.(*sleeper).inner.(*memory).net
	n.room = 64 << 10
	until(t, "broken", func() bool {
		if in := a.Stream.(*stream).inner.(*memoryEnd).peer.in; len(in) < n.room/2 {
			a.raw(append(s.update(), s.record(23, []byte{1})...))
		}
		b.pump()
		require.LessOrEqual(t, b.Stream.(*stream).pending(), outgoingBytesMax+outgoingSlack)
		return b.err != nil
	}, server)
	require.ErrorIs(t, b.err, errFlooded)
	_, err := b.Send([][]byte{{1}})
	require.ErrorIs(t, err, errFlooded)
}
