package store

import (
	"encoding/hex"
	"math/rand/v2"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

func TestRecordBytes(t *testing.T) {
	var o Object
	o.Type, o.Mask = proto.TypeMetafile, proto.AttrCreate|proto.AttrCapability
	o.Owner, o.Group, o.Perms = 1000, 100, 0o644
	o.ATime, o.MTime, o.CTime = 1, 2, -1
	o.Dist = proto.Dist{Name: proto.DistStripe, StripSize: 65536}
	o.Datafiles = []proto.Handle{0x0102}
	o.Parent = 7
	got := appendObject(nil, &o)
	want := "8701" + // parts: common, distribution, datafiles, parent
		"01" + "ff58" + // type, mask
		"e807" + "64" + "a403" + "02" + "04" + "01" +
		"0d" + hex.EncodeToString([]byte(proto.DistStripe)) + "808008" + "00" + "00" + "00" +
		"01" + "0201000000000000" +
		"0700000000000000"
	assert.Equal(t, want, hex.EncodeToString(got))
	record := seal([]byte("key"), 0, func(b []byte) []byte { return append(b, 0xaa) })
	assert.Equal(t, "01aa9b6da32f", hex.EncodeToString(record))
}

func TestRecordsOfObjects(t *testing.T) {
	seed := sim.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 4))
	key := handleKey(5)
	for range 100 {
		o := randomObject(rng)
		record := seal(key, 0, func(b []byte) []byte { return appendObject(b, &o) })
		body, err := unseal(key, record)
		require.NoError(t, err)
		got, err := parseObject(body)
		require.NoError(t, err)
		require.Equal(t, kept(o), got)
		for n := range body {
			_, err := parseObject(body[:n])
			require.ErrorIs(t, err, syscall.EIO)
		}
		_, err = parseObject(append(body[:len(body):len(body)], 0))
		require.ErrorIs(t, err, syscall.EIO)
		_, err = unseal(handleKey(6), record)
		require.ErrorIs(t, err, syscall.EIO, "another's record")
		record[rng.IntN(len(record))] ^= 1 << rng.IntN(8)
		_, err = unseal(key, record)
		require.ErrorIs(t, err, syscall.EIO)
	}
	newer := seal(key, 0, func(b []byte) []byte { b[0]++; return b })
	_, err := unseal(key, newer)
	require.ErrorContains(t, err, "version 2, known is 1")
}

func FuzzObjectRecord(f *testing.F) {
	rng := rand.New(rand.NewPCG(1, 5))
	for range 8 {
		o := randomObject(rng)
		f.Add(appendObject(nil, &o))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if o, err := parseObject(body); err == nil {
			again, err := parseObject(appendObject(nil, &o))
			require.NoError(t, err)
			require.Equal(t, kept(o), again)
		}
		_, _ = unseal(nil, body)
		_, _, _ = unsealNamed(make([]byte, 14), body)
		_, _ = unsealDir(nil, body)
		_, _ = parseState(body)
		_, _ = unsealMark(nil, body)
		r := reader{b: body}
		var d proto.DistDir
		r.distDir(&d)
	})
}

func TestStateRecord(t *testing.T) {
	s := state{objects: [typesMax]int64{1, 2, 3, 4, 5, -6}, entries: 9, ranges: []handleRange{
		{Extent: proto.Extent{First: 3, Last: 9}, space: DataSpace, next: 4, used: 2},
	}}
	got, err := parseState(s.record())
	require.NoError(t, err)
	assert.Equal(t, s, got)
	s.ranges[0].next = 10
	_, err = parseState(s.record())
	require.ErrorIs(t, err, syscall.EIO)
}
