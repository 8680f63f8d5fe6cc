package perf

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// number gives every counter a value of its own, and every time that many µs.
func number(v reflect.Value, from int) int {
	for i := range v.NumField() {
		from++
		if f := v.Field(i); f.CanUint() {
			f.SetUint(uint64(from))
		} else {
			f.SetInt(int64(time.Duration(from) * time.Microsecond))
		}
	}
	return from
}

// TestLinkResultHasEveryCounter finds a counter that is missing in the result, or
// that has the value of another.
func TestLinkResultHasEveryCounter(t *testing.T) {
	m := bmi.MethodStats{Method: "x"}
	last := number(reflect.ValueOf(&m.Packets).Elem(), number(reflect.ValueOf(&m.Link).Elem(), 0))
	r, ok := LinkResult(&m)
	require.True(t, ok)
	var out bytes.Buffer
	require.NoError(t, r.WriteJSON(&out))
	var line map[string]any
	require.NoError(t, json.Unmarshal(out.Bytes(), &line))
	assert.Equal(t, "round-trip", line["test"])
	assert.Equal(t, "x", line["method"])
	assert.Equal(t, "us", line["unit"])
	seen := map[float64]string{line["median"].(float64): "median", line["p99"].(float64): "p99"}
	for name, v := range line["link"].(map[string]any) {
		require.NotContains(t, seen, v, name)
		seen[v.(float64)] = name
	}
	for i := range last {
		assert.Contains(t, seen, float64(i+1))
	}
	assert.EqualValues(t, m.Link.Retransmitted, line["link"].(map[string]any)["retransmitted"])
	assert.EqualValues(t, m.Packets.Overflowed, line["link"].(map[string]any)["overflowed"])
}

func TestLinkResultOfAMethodThatCountsNothing(t *testing.T) {
	_, ok := LinkResult(&bmi.MethodStats{Method: "x"})
	assert.False(t, ok)
	var out bytes.Buffer
	require.NoError(t, Result{}.WriteJSON(&out))
	assert.NotContains(t, out.String(), "link")
}
