package secure

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
)

func TestReplays(t *testing.T) {
	modes(t, func(t *testing.T, k keys) {
		a, b := joined(t, k)
		var packets [][]byte
		for n := range WindowPackets + 2 {
			packets = append(packets, seal(t, a.Session, a.ID, fmt.Sprint(n)))
		}
		open := func(n int) error {
			body, err := b.Session.Open(bytes.Clone(packets[n]))
			if err == nil {
				assert.Equal(t, fmt.Sprint(n), string(body))
			}
			return err
		}
		require.NoError(t, open(1))
		assert.ErrorIs(t, open(1), ErrReplayed)
		require.NoError(t, open(0), "late, but in the window")
		assert.ErrorIs(t, open(0), ErrReplayed)
		require.NoError(t, open(WindowPackets+1))
		assert.ErrorIs(t, open(0), ErrOld)
		assert.ErrorIs(t, open(1), ErrOld)
		require.NoError(t, open(2), "the oldest in the window")
		assert.ErrorIs(t, open(2), ErrReplayed)
		assert.Equal(t, Stats{Opened: 4, Replayed: 3, Old: 2, Epochs: b.Session.Stats().Epochs}, b.Session.Stats())
	})
}

// A packet that is not authentic does not move the window.
func TestForgeriesMoveNothing(t *testing.T) {
	modes(t, func(t *testing.T, k keys) {
		a, b := joined(t, k)
		good := seal(t, a.Session, a.ID, "good")
		for _, number := range []uint64{1, WindowPackets, EpochPackets, 5 * EpochPackets, PacketsMax - 1, PacketsMax, ^uint64(0)} {
			bad := bytes.Clone(good)
			binary.LittleEndian.PutUint64(bad[numberAt:], number)
			_, err := b.Session.Open(bad)
			require.Error(t, err)
		}
		_, err := b.Session.Open(good)
		require.NoError(t, err)
		assert.EqualValues(t, 7, b.Session.Stats().Forged)
	})
}

// shortEpochs are two sessions whose keys last for 2^bits packets.
func shortEpochs(cipher wire.Ciphers, bits uint8) (a, b *sealed) {
	s := secrets{send: [keyBytes]byte{1}, recv: [keyBytes]byte{2}}
	return newSealed(cipher, s, bits), newSealed(cipher, secrets{send: s.recv, recv: s.send}, bits)
}

func TestKeysChange(t *testing.T) {
	for _, cipher := range []wire.Ciphers{wire.CipherAES, wire.CipherChaCha} {
		a, b := shortEpochs(cipher, 3)
		var held []byte
		for n := range 1000 {
			packet := seal(t, a, 1, "payload")
			if n%8 == 7 { // it is overtaken by the first of the next key
				held = packet
				continue
			}
			_, err := b.Open(packet)
			require.NoError(t, err, "%d", n)
			if held != nil {
				_, err = b.Open(held)
				require.NoError(t, err, "before %d", n)
				held = nil
			}
		}
		assert.EqualValues(t, 1+125, a.Stats().Epochs)
		assert.EqualValues(t, 1+125, b.Stats().Epochs)
	}
}

// Each key seals different packets, and for packets behind the window there is no
// key any more.
func TestKeysAreForgotten(t *testing.T) {
	const bits = 14 // more than a window
	a, b := shortEpochs(wire.CipherAES, bits)
	first := bytes.Clone(seal(t, a, 1, "payload"))
	_, err := b.Open(seal(t, a, 1, "payload"))
	require.NoError(t, err)
	a.number = 1 << bits
	second := seal(t, a, 1, "payload")
	assert.NotEqual(t, first[wire.PacketLen:], second[wire.PacketLen:])
	_, err = b.Open(second)
	require.NoError(t, err)
	assert.NotNil(t, b.recvBefore)
	a.number = 1<<bits + WindowPackets
	_, err = b.Open(seal(t, a, 1, "payload"))
	require.NoError(t, err)
	assert.Nil(t, b.recvBefore)
	_, err = b.Open(first)
	assert.ErrorIs(t, err, ErrOld)
}

// A forged packet that claims a later key makes us compute one key, once.
func TestForgersDoNotTurnKeys(t *testing.T) {
	a, b := shortEpochs(wire.CipherAES, 3)
	packet := seal(t, a, 1, "payload")
	for n := range uint64(1000) {
		bad := bytes.Clone(packet)
		binary.LittleEndian.PutUint64(bad[numberAt:], 8+n)
		_, err := b.Open(bad)
		require.ErrorIs(t, err, ErrForged)
	}
	assert.EqualValues(t, 3, b.Stats().Epochs)
	for range 100 {
		_, err := b.Open(packet)
		require.NoError(t, err)
		packet = seal(t, a, 1, "payload")
	}
}

func TestLimits(t *testing.T) {
	modes(t, func(t *testing.T, k keys) {
		a, _ := joined(t, k)
		var b *base
		switch s := a.Session.(type) {
		case *plain:
			b = &s.base
		case *sealed:
			b = &s.base
			s.bits = 60 // all in one epoch: the limit is the point
		}
		b.number = PacketsMax - 1
		head := wire.Packet{To: 1}.Append(nil)
		vec, err := a.Session.Seal(nil, head, nil)
		require.NoError(t, err)
		require.NotEmpty(t, vec)
		vec, err = a.Session.Seal(nil, head, nil)
		assert.ErrorIs(t, err, ErrExhausted)
		assert.Empty(t, vec)
	})
	_, b := joined(t, shared(t))
	b.Session.(*sealed).stats.Forged = ForgeriesMax - 2
	bad := make([]byte, 64)
	_, err := b.Session.Open(bad)
	assert.ErrorIs(t, err, ErrForged)
	_, err = b.Session.Open(bad)
	assert.ErrorIs(t, err, ErrForgeries)
}

// Pieces arrive as one packet, however long; without keys, large ones are not
// copied.
func TestSealPieces(t *testing.T) {
	modes(t, func(t *testing.T, k keys) {
		for _, size := range []int{0, 1, plainCopyBytes - 1, plainCopyBytes, plainCopyBytes + 1, 60000} {
			a, b := joined(t, k)
			body := bytes.Repeat([]byte("x"), size)
			pieces := [][]byte{body[:size/3], nil, body[size/3:]}
			head := append(wire.Packet{To: a.ID}.Append(make([]byte, 0, a.Session.Room(20, size))), "head"...)
			vec, err := a.Session.Seal([][]byte{[]byte("before")}, head, pieces)
			require.NoError(t, err)
			require.Equal(t, "before", string(vec[0]))
			assert.Same(t, &head[0], &vec[1][0], "no memory but the head's")
			if k == (keys{}) && size > plainCopyBytes {
				assert.Same(t, &body[0], &vec[2][0])
			} else {
				assert.Len(t, vec, 2)
			}
			packet := flat(vec[1:])
			assert.Len(t, packet, len(head)+size+a.Session.Overhead())
			got, err := b.Session.Open(packet)
			require.NoError(t, err)
			assert.Equal(t, "head"+string(body), string(got))
		}
	})
}

func TestNoAllocations(t *testing.T) {
	modes(t, func(t *testing.T, k keys) {
		a, b := joined(t, k)
		for _, size := range []int{8, 1400, 60000} {
			body := [][]byte{make([]byte, size)}
			head := wire.Packet{To: a.ID}.Append(make([]byte, 0, a.Session.Room(wire.PacketLen, size)))
			vec := make([][]byte, 0, 4)
			packet := make([]byte, 0, 1<<16)
			assert.Zero(t, testing.AllocsPerRun(100, func() {
				vec, _ = a.Session.Seal(vec[:0], head, body)
				packet = packet[:0]
				for _, piece := range vec {
					packet = append(packet, piece...)
				}
				if _, err := b.Session.Open(packet); err != nil {
					t.Fatal(err)
				}
			}))
		}
	})
}

func BenchmarkSession(b *testing.B) {
	for _, size := range []int{64, 1400, 8900, 65000} {
		for _, cipher := range []wire.Ciphers{0, wire.CipherChaCha, wire.CipherAES} {
			b.Run(fmt.Sprintf("%v/%d", cipher, size), func(b *testing.B) {
				mode := wire.ModeNoise
				if cipher == 0 {
					mode = wire.ModeInsecure
				}
				out, in := newSession(mode, cipher, secrets{}), newSession(mode, cipher, secrets{})
				body := [][]byte{make([]byte, size)}
				head := wire.Packet{To: 1}.Append(make([]byte, 0, out.Room(wire.PacketLen, size)))
				vec, packet := make([][]byte, 0, 4), make([]byte, 0, 1<<17)
				b.SetBytes(int64(size))
				b.ReportAllocs()
				for b.Loop() {
					vec, _ = out.Seal(vec[:0], head, body)
					packet = packet[:0]
					for _, piece := range vec {
						packet = append(packet, piece...)
					}
					if _, err := in.Open(packet); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
