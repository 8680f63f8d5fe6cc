package proto

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/race"
)

// hot are frequent requests.
func hot() map[string]sample {
	cred := Credential{User: 1000, Groups: []uint32{1000, 4}, Issuer: "C:some.host"}
	capability := Capability{Issuer: "S:server1", FS: 1000, Mask: MayAll, Handles: []Handle{1, 2, 3}}
	h := &Header{Capability: capability, Hints: Hints{{Type: HintHandle, Value: 1}}}
	stripe := Dist{Name: DistStripe, StripSize: 65536}
	return map[string]sample{
		"getattr":  {h: h, req: &GetAttrReq{Handle: 1, FS: 1000, Mask: AttrStat, Cred: cred}},
		"io":       {h: h, req: &IOReq{Handle: 2, Type: IOWrite, Flow: FlowMultiqueue, ServerCt: 2, Dist: stripe, Request: ByteStream(), Aggregate: 1 << 20}},
		"small_io": {h: h, req: &SmallIOReq{Handle: 2, Type: IOWrite, ServerCt: 1, Dist: stripe, Request: ByteStream(), Aggregate: 512, Data: make([]byte, 512)}},
		"crdirent": {h: h, req: &CrDirentReq{Cred: cred, Name: "file", New: 1, Dir: 2, Dirdata: 3}},
	}
}

// Encoding a request allocates nothing; decoding one allocates little more than its contents.
func TestAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	b := make([]byte, 0, 4096)
	for name, s := range hot() {
		assert.LessOrEqual(t, testing.AllocsPerRun(200, func() { b = s.append(b[:0]) }), 0.5, name)
		raw := s.append(nil)
		assert.LessOrEqual(t, testing.AllocsPerRun(200, func() {
			_, _, err := ParseRequest(raw)
			if err != nil {
				panic(err)
			}
		}), 9.5, name)
	}
	reply := AppendResponse(nil, &IOResp{Size: 5})
	var into IOResp
	assert.LessOrEqual(t, testing.AllocsPerRun(200, func() { _ = ParseResponse(reply, &into) }), 0.5)
	assert.LessOrEqual(t, testing.AllocsPerRun(200, func() { b = AppendStatus(b[:0], OpIO, OK) }), 0.5)
}

// No message makes the parser allocate much more memory than the message has bytes: the elements of a count must be present.
func TestMemory(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	big := &ListAttrResp{Status: make([]Status, MaxListAttr), Attrs: make([]Attr, MaxListAttr)}
	tree := &TreeGetAttrResp{Attrs: make([]Attr, MaxHandles), Errors: make([]Status, MaxHandles)}
	names := &SplitDirentReq{Handles: make([]Handle, 500), Names: make([]string, 500)}
	for _, b := range [][]byte{
		AppendResponse(nil, big), AppendResponse(nil, tree), AppendRequest(nil, nil, names),
		AppendRequest(nil, nil, &BatchRemoveReq{Handles: make([]Handle, 1000)}),
	} {
		// With the last byte missing, everything that can be allocated is allocated before the error.
		for _, n := range []int{len(b), len(b) - 1} {
			assert.LessOrEqual(t, taken(t, b[:n]), 16*len(b)+8192)
		}
	}
}

// taken is how many bytes parsing allocates.
func taken(t *testing.T, b []byte) int {
	t.Helper()
	const runs = 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range runs {
		if _, _, err := ParseAnyResponse(b); err == nil {
			continue
		}
		_, _, _ = ParseRequest(b)
	}
	runtime.ReadMemStats(&after)
	require.GreaterOrEqual(t, after.TotalAlloc, before.TotalAlloc)
	return int(after.TotalAlloc-before.TotalAlloc) / runs
}

func BenchmarkAppendRequest(b *testing.B) {
	for name, s := range hot() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			buf := make([]byte, 0, 4096)
			for b.Loop() {
				buf = s.append(buf[:0])
			}
		})
	}
}

func BenchmarkParseRequest(b *testing.B) {
	for name, s := range hot() {
		raw := s.append(nil)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := ParseRequest(raw); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
