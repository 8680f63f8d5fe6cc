package secure

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
)

// TestBothSidesSendAtOnce would deadlock if sending waited for the other side's
// receiving, or the reverse.
func TestBothSidesSendAtOnce(t *testing.T) {
	size := 64 << 20
	if testing.Short() || raced {
		size = 4 << 20
	}
	n := newNetwork(1)
	client, server := pair(t, n, false)
	a, b := join(t, client, server)
	data := random(3, 1<<20)
	type flow struct {
		from, to  *peer
		sent, got int
	}
	flows := []*flow{{from: a, to: b}, {from: b, to: a}}
	until(t, "all is there", func() bool {
		done := true
		for _, f := range flows {
			if at := f.sent % len(data); f.sent < size && f.from.writable {
				n, err := f.from.Send([][]byte{data[at : (at+len(data))/2], data[(at+len(data))/2:]})
				f.sent += n
				if errors.Is(err, stack.ErrAgain) {
					f.from.writable = false
				} else {
					require.NoError(t, err)
				}
			}
			require.LessOrEqual(t, f.from.Stream.(*stream).pending(), outgoingBytesMax+outgoingSlack)
			f.to.pump()
			require.NoError(t, f.to.err)
			for len(f.to.got) > 0 {
				at := f.got % len(data)
				k := min(len(f.to.got), len(data)-at)
				require.True(t, bytes.Equal(data[at:at+k], f.to.got[:k]), "other bytes came than were sent, near %d", f.got)
				f.to.got = f.to.got[k:]
				f.got += k
			}
			f.to.got = nil
			done = done && f.got >= size && f.got == f.sent
		}
		return done
	}, client, server)
}

// TestNarrowNetwork moves everything, the handshake too, in pieces of a few bytes. Only a few bytes
// are on the way at once.
func TestNarrowNetwork(t *testing.T) {
	rooms := []int{1, 17, 2, 600}
	if testing.Short() {
		rooms = rooms[:2]
	}
	for _, room := range rooms {
		worlds(t, func(t *testing.T, inline bool) {
			n := newNetwork(uint64(room))
			n.room, n.pieceMax = room, 1+room/2
			client, server := pair(t, n, inline)
			a, b := join(t, client, server)
			exchange(t, a, b, random(1, 5000))
			exchange(t, b, a, random(2, 5000))
			a.push(random(3, 5000))
			require.NoError(t, a.Finish())
			until(t, "the end comes after the data", func() bool { b.pump(); return b.err != nil }, client, server)
			require.Equal(t, io.EOF, b.err)
			require.True(t, bytes.HasPrefix(b.got[len(b.got)-5000:], random(3, 5000)))
		})
	}
}

func TestSendIsBounded(t *testing.T) {
	n := newNetwork(1)
	n.room = 1000
	client, server := pair(t, n, false)
	a, _ := join(t, client, server)
	total := 0
	for {
		k, err := a.Send([][]byte{make([]byte, 1<<20)})
		total += k
		if errors.Is(err, stack.ErrAgain) {
			break
		}
		require.NoError(t, err)
	}
	assert.LessOrEqual(t, total, outgoingBytesMax+n.room)
	assert.False(t, a.Delivered())
}

// TestAllIsTakenOutOfTLS has a receiver with little room: bytes that TLS has
// decrypted and that did not fit into the buffers must not wait for another
// event.
func TestAllIsTakenOutOfTLS(t *testing.T) {
	n := newNetwork(1)
	client, server := pair(t, n, false)
	a, b := join(t, client, server)
	data := random(1, 3*recordBytesMax)
	rest := a.push(data)
	until(t, "all is on its way", func() bool { rest = a.push(rest); return len(rest) == 0 && a.Stream.(*stream).pending() == 0 }, client)
	server.poll()
	var got []byte
	for {
		var small [3]byte
		k, err := b.Recv([][]byte{small[:1], nil, small[1:]})
		got = append(got, small[:k]...)
		if errors.Is(err, stack.ErrAgain) {
			break
		}
		require.NoError(t, err)
	}
	require.True(t, bytes.Equal(data, got))
}

func TestManyPieces(t *testing.T) {
	n := newNetwork(1)
	client, server := pair(t, n, false)
	a, b := join(t, client, server)
	pieces := make([][]byte, stack.PiecesMax+10)
	for i := range pieces {
		pieces[i] = []byte{byte(i)}
	}
	k, err := a.Send(pieces)
	require.NoError(t, err)
	require.Equal(t, stack.PiecesMax, k)
	require.Less(t, len(b.Stream.(*stream).inner.(*memoryEnd).in), 2*stack.PiecesMax, "they went as one record")
	var got [2 * stack.PiecesMax]byte
	server.poll()
	into := make([][]byte, len(got))
	for i := range into {
		into[i] = got[i : i+1]
	}
	k, err = b.Recv(into)
	if err != nil {
		require.ErrorIs(t, err, stack.ErrAgain)
	}
	require.Equal(t, stack.PiecesMax, k)
	for i := range k {
		require.Equal(t, byte(i), got[i])
	}
}

// TestAFullPeerDoesNotStallOthers has one peer that reads nothing.
func TestAFullPeerDoesNotStallOthers(t *testing.T) {
	n := newNetwork(1)
	n.room = 5000
	client, server := pair(t, n, false)
	a, _ := join(t, client, server)
	c, d := join(t, client, server)
	full := random(1, 1<<20)
	require.NotEmpty(t, a.push(full))
	exchange(t, c, d, random(2, 300_000))
	require.False(t, a.writable)
	require.NotNil(t, a.Stream.(*stream).out.mem)
	require.Nil(t, c.Stream.(*stream).out.mem, "an idle stream keeps no buffer")
	require.LessOrEqual(t, len(client.stack.(*sleeper).buffers), buffersMax)
}

func TestSmallMessagesHardlyAllocate(t *testing.T) {
	n := newNetwork(1)
	client, server := pair(t, n, false)
	a, b := join(t, client, server)
	inner := b.Stream.(*stream).inner.(*memoryEnd)
	inner.in = make([]byte, 0, 1<<20)
	send, recv := [][]byte{make([]byte, 24), make([]byte, 64)}, [][]byte{make([]byte, 200)}
	exchange(t, a, b, make([]byte, 1000))
	if raced {
		t.Skip("the race detector allocates")
	}
	allocs := testing.AllocsPerRun(200, func() {
		k, err := a.Send(send)
		if k != 88 || err != nil {
			panic(err)
		}
		if k, _ = b.Recv(recv); k != 88 {
			panic(k)
		}
	})
	// The memory stack copies the sent bytes, which is one allocation. crypto/tls makes a small one
	// for each read, here two.
	assert.LessOrEqual(t, allocs, 3.0)
}
