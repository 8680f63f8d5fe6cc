package mpi

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// FuzzMeeting: a message from another group's leader is either refused, or equals one that a leader
// writes.
func FuzzMeeting(f *testing.F) {
	key := agreementKey{parent: 6, tag: 1<<26 | 5, leader: core.ProcID{1, 2, 15: 16}}
	one := core.Card{ID: core.ProcID{7}, Host: "here", Addresses: []string{"tcp://127.0.0.1:4000"}}
	two := core.Card{ID: core.ProcID{8}, Host: "there", Addresses: []string{"via+shm://a", "via+udp://b:1"}}
	good := append(appendKey(nil, key), one.Encode()+" "+two.Encode()...)
	f.Add(good)
	f.Add(good[:keyBytes])
	f.Add(append(bytes.Clone(good), ' '))
	f.Add([]byte("nonsense that is long enough to have a key"))
	got, cards, err := parseMeeting(good)
	require.NoError(f, err)
	assert.Equal(f, key, got)
	assert.Equal(f, []core.Card{one, two}, cards)
	f.Fuzz(func(t *testing.T, b []byte) {
		key, cards, err := parseMeeting(b)
		if err != nil {
			assert.Equal(t, errclass.Other, errclass.Of(err), "%v", err)
			return
		}
		again := appendKey(nil, key)
		for i, card := range cards {
			if i > 0 {
				again = append(again, ' ')
			}
			again = append(again, card.Encode()...)
		}
		key2, cards2, err := parseMeeting(again)
		require.NoError(t, err)
		assert.Equal(t, key, key2)
		assert.Equal(t, cards, cards2)
	})
}

// FuzzFrame: input from a connection is limited, and only announced bytes are waited for.
func FuzzFrame(f *testing.F) {
	f.Add([]byte{3, 0, 0, 0, 0, 0, 0, 0, 'a', 'b', 'c', 'd'})
	f.Add([]byte{200, 0, 0, 0, 0, 0, 0, 0, 'a'})
	f.Add([]byte{255, 255, 255, 255, 255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bytes.NewReader(b)
		got, err := readFrame(r, 100)
		if err != nil {
			return
		}
		assert.LessOrEqual(t, len(got), 100)
		assert.Equal(t, b[8:8+len(got)], append([]byte{}, got...))
		assert.Equal(t, len(b)-8-len(got), r.Len())
	})
}
