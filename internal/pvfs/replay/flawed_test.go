package replay_test

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/replay"
	"github.com/viaduct-hpc/viaduct/internal/race"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// notTold reports whether a deviation allows a field to differ.
func notTold(scene, field string) bool {
	return allowed(scene, field, nil, nil, make(map[*deviation]bool))
}

// leaves are the numbers and texts in a value, as functions that change one and return its name.
func leaves(name string, v reflect.Value, to []func() string) []func() string {
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[proto.Credential]() {
			return to
		}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Name != "Hints" {
				to = leaves(name+"."+f.Name, v.Field(i), to)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			to = leaves(name, v.Index(i), to)
		}
	case reflect.Bool:
		to = append(to, func() string { v.SetBool(!v.Bool()); return name })
	case reflect.String:
		to = append(to, func() string { v.SetString(v.String() + "x"); return name })
	case reflect.Int32, reflect.Int64:
		to = append(to, func() string { v.SetInt(v.Int() ^ 1); return name })
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		to = append(to, func() string { v.SetUint(v.Uint() ^ 1); return name })
	}
	return to
}

// flawed is an exchange with one leaf of its request changed; nil after the last.
func flawed(x *replay.Exchange, n int) (*replay.Exchange, string) {
	h, req, err := proto.ParseRequest(x.Request)
	if err != nil {
		return nil, ""
	}
	all := leaves("", reflect.ValueOf(h).Elem(), nil)
	all = leaves("", reflect.ValueOf(req).Elem(), all)
	if n >= len(all) {
		return nil, ""
	}
	name := all[n]()
	other := *x
	other.Request = req.Append(nil, h)
	return &other, req.Op().String() + " " + name[1:]
}

// own are the times set by clients.
var own = []string{"Capability.Timeout", "Attr.ATime", "Attr.MTime", "Attr.CTime"}

// unseen reports whether a change of a captured request need not be detected: it is the same on the wire, it does not parse any
// more, or the field may differ.
func unseen(scene string, was, is *replay.Exchange, field string) bool {
	_, _, err := proto.ParseRequest(is.Request)
	_, name, _ := strings.Cut(field, " ")
	return err != nil || bytes.Equal(was.Request, is.Request) || slices.Contains(own, name) || notTold(scene, field)
}

// TestClientFlaws proves that TestClient detects differences: if any field of any captured request is changed, or a request is
// added or removed, it fails.
func TestClientFlaws(t *testing.T) {
	scenes := []string{"02-mkdir", "06-cp-in-100k", "17-smallread", "25-rename", "29-symlink", "33-xattr-set", "49-rm-file"}
	if race.Enabled {
		scenes = scenes[:1]
	}
	for _, k := range takesOf(t, loadCut(t, cutFile)...) {
		if !slices.Contains(scenes, k.name) {
			continue
		}
		t.Run(k.name, func(t *testing.T) {
			sent := k.perform(t, pvfstest.Memory)
			problems := func(captured, sent []*replay.Exchange) []string {
				pairs, err := replay.Pairs(captured, sent)
				require.NoError(t, err)
				return judge(k.name, pairs, make(map[*deviation]bool))
			}
			require.Empty(t, problems(k.captured, sent))
			seen := 0
			pairs, err := replay.Pairs(k.captured, sent)
			require.NoError(t, err)
			for i, p := range pairs {
				if p.Captured == nil || p.Live == nil {
					continue
				}
				for n := 0; ; n++ {
					other, field := flawed(p.Captured, n)
					if other == nil {
						break
					}
					if unseen(k.name, p.Captured, other, field) {
						continue
					}
					captured := slices.Clone(k.captured)
					captured[i] = other
					if assert.NotEmpty(t, problems(captured, sent), "%s of request %d", field, i) {
						seen++
					}
				}
			}
			require.Greater(t, seen, 30)
			t.Logf("%d changes seen", seen)
			for i, x := range sent {
				if op := opOf(x); op != proto.OpGetAttr && op != proto.OpLookupPath && op != proto.OpGetConfig && op != proto.OpSetAttr {
					assert.NotEmpty(t, problems(k.captured, slices.Delete(slices.Clone(sent), i, i+1)), "without %s", op)
					assert.NotEmpty(t, problems(k.captured, slices.Insert(slices.Clone(sent), i, x)), "with %s twice", op)
				}
			}
		})
	}
}

// TestDataFlaw: other data, or data divided in another way, is detected.
func TestDataFlaw(t *testing.T) {
	for _, k := range takesOf(t, loadCut(t, cutFile)...) {
		if k.name != "06-cp-in-100k" {
			continue
		}
		sent := k.perform(t, pvfstest.Memory)
		i := slices.IndexFunc(sent, func(x *replay.Exchange) bool { return len(x.Sent) > 0 })
		require.GreaterOrEqual(t, i, 0)
		whole := sent[i].Sent[0]
		other := slices.Clone(whole)
		other[7]++
		for what, data := range map[string][][]byte{"other bytes": {other}, "two messages": {whole[:1], whole[1:]}} {
			sent[i].Sent = data
			pairs, err := replay.Pairs(k.captured, sent)
			require.NoError(t, err)
			assert.NotEmpty(t, judge(k.name, pairs, make(map[*deviation]bool)), what)
		}
		return
	}
	t.Fatal("no such capture")
}
