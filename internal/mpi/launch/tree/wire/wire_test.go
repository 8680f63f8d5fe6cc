package wire

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/golden"
)

// samples are frames of all kinds, with a value in each field.
func samples() []Frame {
	pairs := []Pair{{"card-3", "07ab"}, {"card-4", ""}}
	programs := []Program{{N: 3, Name: "heat", Path: "/bin/heat", Args: []string{"-check", ""}, Env: []string{"A=1"}, Dir: "/tmp"}}
	return []Frame{
		&Hello{Version: 1, Node: 2, Arity: 16, Nodes: 300, Job: "job", Secret: []byte{1, 2, 3}, Shell: []string{"ssh", "-x"}, Agent: "/bin/mpiexec", Hosts: []Host{{2, "a"}, {33, "b"}}, KeepGoing: true, GraceMillis: 3000},
		&Start{Group: 1, Programs: programs, Env: []string{"PATH=/bin"}, Blocks: []Block{{1, 2, 4}}, Preput: pairs, Universe: 8, Bind: "core", Report: true},
		&Release{Group: 1, Pairs: pairs, Last: true},
		&Answer{Node: 5, Ask: 1000, Group: 1, OK: true, Text: "why", Pairs: pairs},
		&Signal{Group: 1, Number: 15, Alone: true, Ending: true},
		&Input{Node: 3, Data: []byte("in"), End: true},
		&Who{Group: 1},
		&OutputTaken{Bytes: 65536},
		&Up{},
		&Output{Group: 1, Rank: 70000, Errors: true, Data: []byte("out\n")},
		&Fence{Group: 1, Pairs: pairs, Last: true},
		&State{Group: 1, All: true},
		&Ended{Group: 1, Runs: []Run{{Rank: 4, Count: 12, Status: 9, State: 2, Process: 4711}}, Done: true},
		&Ask{Node: 5, Ask: 1000, Group: 1, Rank: 7, What: AskSpawn, Key: "k", Value: "v", Programs: programs, Pairs: pairs},
		&Abort{Group: 1, Rank: 7, Process: 4711, Code: 33, Text: "enough", Babble: true},
		&Missing{Group: 1, Ranks: []int{1, 300}, More: 5},
		&Say{Node: 5, Text: "a sentence"},
		&Lost{Node: 5, Why: "why"},
		&Failed{Group: 1, Node: 5, Class: 2, Text: "why"},
		&InputTaken{Bytes: 2},
		&Started{Group: 1},
	}
}

func parse(b []byte) (Frame, error) {
	var head [HeadBytes]byte
	if len(b) < HeadBytes {
		return nil, ErrMalformed
	}
	copy(head[:], b)
	n, err := ParseHead(head)
	if err != nil {
		return nil, err
	}
	if n != len(b)-HeadBytes-1 || b[len(b)-1] != End {
		return nil, fmt.Errorf("%w: length %d of %d", ErrMalformed, n, len(b)-HeadBytes-1)
	}
	return Parse(head[HeadBytes-1], b[HeadBytes:len(b)-1])
}

func TestGolden(t *testing.T) {
	var vectors []golden.Vector
	kinds := map[byte]bool{}
	for _, f := range samples() {
		b, err := Append(nil, f)
		require.NoError(t, err)
		kinds[f.kind()] = true
		vectors = append(vectors, golden.Vector{Name: fmt.Sprintf("%T", f)[len("*wire."):], Bytes: b})
		got, err := parse(b)
		require.NoError(t, err, "%T", f)
		assert.Equal(t, f, got)
	}
	golden.CheckVectors(t, "testdata/frames.txt", vectors)
	for kind := range byte(255) {
		assert.Equal(t, empty(kind) != nil, kinds[kind], "a sample of kind %d", kind)
	}
}

func TestShortAndLongFrames(t *testing.T) {
	for _, f := range samples() {
		whole, err := Append(nil, f)
		require.NoError(t, err)
		whole = whole[:len(whole)-1]
		for n := HeadBytes; n < len(whole); n++ {
			_, err := Parse(f.kind(), whole[HeadBytes:n])
			assert.ErrorIs(t, err, ErrMalformed, "%T of %d bytes", f, n)
		}
		_, err = Parse(f.kind(), append(whole[HeadBytes:], 0))
		assert.ErrorIs(t, err, ErrMalformed, "%T and one byte", f)
	}
}

func TestLimits(t *testing.T) {
	for _, f := range []Frame{
		&Output{Data: make([]byte, OutputBytesMax+1)},
		&Output{Rank: RanksMax + 1},
		&Output{Rank: -1},
		&Abort{Code: 256},
		&Missing{Ranks: make([]int, MissingMax+1)},
		&Start{Env: []string{string(make([]byte, ArgBytesMax+1))}},
		&Fence{Pairs: []Pair{{Key: string(make([]byte, KeyBytesMax+1))}}},
		&Start{Env: []string{string(make([]byte, ArgBytesMax)), string(make([]byte, FrameBytesMax-ArgBytesMax))}},
	} {
		_, err := Append(nil, f)
		assert.ErrorIs(t, err, ErrMalformed, "%T", f)
	}
	many := &Start{}
	for range FrameBytesMax/ArgBytesMax + 1 {
		many.Env = append(many.Env, string(make([]byte, ArgBytesMax)))
	}
	_, err := Append(nil, many)
	assert.ErrorContains(t, err, "can be sent")

	var head [HeadBytes]byte
	head[HeadBytes-1] = kindUp
	binary.BigEndian.PutUint32(head[:], FrameBytesMax+1)
	_, err = ParseHead(head)
	assert.ErrorIs(t, err, ErrMalformed)
	_, err = ParseHead([HeadBytes]byte{})
	assert.ErrorIs(t, err, ErrMalformed)
	_, err = Parse(0, nil)
	assert.ErrorIs(t, err, ErrMalformed)
	// A list of many items in few bytes takes no memory.
	body := binary.AppendUvarint([]byte{1}, PairsMax)
	_, err = Parse(kindFence, body)
	assert.ErrorContains(t, err, "a list of")
}

func FuzzParse(f *testing.F) {
	for _, s := range samples() {
		b, err := Append(nil, s)
		require.NoError(f, err)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		frame, err := parse(b)
		if err != nil {
			require.ErrorIs(t, err, ErrMalformed)
			return
		}
		// Numbers have several forms, so the bytes may differ; the frame may not.
		again, err := Append(nil, frame)
		require.NoError(t, err)
		same, err := parse(again)
		require.NoError(t, err)
		require.Equal(t, frame, same)
	})
}
