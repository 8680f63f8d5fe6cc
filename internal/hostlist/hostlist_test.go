package hostlist

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestExpand(t *testing.T) {
	for list, want := range map[string]string{
		"node":                       "node",
		"node1,node3":                "node1 node3",
		"node[1-3]":                  "node1 node2 node3",
		"node[001-003,12]":           "node001 node002 node003 node12",
		"node[8-10]":                 "node8 node9 node10",
		"node[08-10]":                "node08 node09 node10",
		"node[9-010]":                "node9 node10", // the lower end counts
		"node[099-101]":              "node099 node100 node101",
		"n[3,1-2,1]":                 "n3 n1 n2 n1",
		"[0-2]":                      "0 1 2",
		"n[0-1].example,gpu[7]":      "n0.example n1.example gpu7",
		"r[0-1]n[0-2]":               "r0n0 r0n1 r0n2 r1n0 r1n1 r1n2",
		"r[0-1]n[0-1]g[0-1]":         "r0n0g0 r0n0g1 r1n0g0 r1n0g1 r0n1g0 r0n1g1 r1n1g0 r1n1g1",
		"[::1],[fe80::1]:22":         "[::1] [fe80::1]:22",
		"tcp://[2001:db8::1]:3":      "tcp://[2001:db8::1]:3",
		"tcp://n[1-2]:[7-8]":         "tcp://n1:7 tcp://n1:8 tcp://n2:7 tcp://n2:8",
		"n[18446744073709551615]":    "n18446744073709551615",
		"knoten-ä[1-2]":              "knoten-ä1 knoten-ä2",
		"n[00-00000000000000000001]": "n00 n01",
	} {
		names, err := Expand(list)
		require.NoError(t, err, list)
		assert.Equal(t, want, strings.Join(names, " "), list)
	}
}

// TestWrong: what is no list is an error that says what is wrong, and quotes only the place.
func TestWrong(t *testing.T) {
	for list, says := range map[string]string{
		"":                                       "a name is empty",
		"a,,b":                                   "a name is empty",
		"a,":                                     "a name is empty",
		",a":                                     "a name is empty",
		"a b":                                    "separate them by commas",
		"a\x00":                                  "control characters",
		"ok,node[1-2":                            `"node[1-2": a [ has no ]`,
		"node1]":                                 "a ] has no [",
		"node[[1]]":                              "within brackets",
		"node[]":                                 "numbers and ranges",
		"node[1,,2]":                             "numbers and ranges",
		"node[1-]":                               "numbers and ranges",
		"node[-1]":                               "numbers and ranges",
		"node[+1]":                               "numbers and ranges",
		"node[1_0]":                              "numbers and ranges",
		"node[1-2-3]":                            "numbers and ranges",
		"node[a-c]":                              "numbers and ranges",
		"node[18446744073709551616]":             "numbers and ranges",
		"node[3-1]":                              `"3-1": the range ends before it begins`,
		"node[0-65536]":                          "more than 65536 names",
		"n[0-65535],n":                           "more than 65536 names",
		"n[0-40000,0-40000]":                     "more than 65536 names",
		"n[0-299]m[0-299]":                       "more than 65536 names",
		"n[0-18446744073709551615]":              "more than 65536 names",
		strings.Repeat("n", 1025):                "at most 1024 bytes",
		"n[" + strings.Repeat("0", 1023) + "1]":  "at most 1024 bytes",
		"n[" + strings.Repeat("0", 2<<20) + "1]": "numbers and ranges", // wider than fmt writes
		"n[1:3]":                                 "numbers and ranges",
	} {
		names, err := Expand(list)
		require.ErrorContains(t, err, says, list)
		assert.Nil(t, names)
		assert.Less(t, len(err.Error()), 250, "an error repeats little of a list")
	}
}

func TestFullList(t *testing.T) {
	names, err := Expand("n[0-65535]")
	require.NoError(t, err)
	require.Len(t, names, NamesMax)
	assert.Equal(t, "n65535", names[NamesMax-1])
}

func TestExpandAll(t *testing.T) {
	names, err := ExpandAll([]string{"a[1-2],b", "c"})
	require.NoError(t, err)
	assert.Equal(t, []string{"a1", "a2", "b", "c"}, names)
	for says, lists := range map[string][]string{
		"a name is empty": {"a", ""}, "a [ has no ]": {"a[1", "2]"}, "more than 65536 names": {"a[0-40000]", "b[0-40000]"},
	} {
		_, err = ExpandAll(lists)
		assert.ErrorContains(t, err, says)
	}
}

func TestWords(t *testing.T) {
	words, err := Split("tcp://n[1,3]:7,via+udp://[::1]:8")
	require.NoError(t, err)
	assert.Equal(t, []string{"tcp://n[1,3]:7", "via+udp://[::1]:8"}, words)
	names, err := Word(words[0])
	require.NoError(t, err)
	assert.Equal(t, []string{"tcp://n1:7", "tcp://n3:7"}, names)
	_, err = Word("a,b")
	assert.ErrorContains(t, err, "not a list")
}

// FuzzExpand: names are within the limits, and their own expansion.
func FuzzExpand(f *testing.F) {
	for _, list := range []string{"", "node[001-010,12],gpu1", "r[0-1]n[0-1]g[0-1]", "tcp://[::1]:1", "n[1,,2]", "n[0-9999999]", "a[b]c"} {
		f.Add(list)
	}
	f.Fuzz(func(t *testing.T, list string) {
		names, err := Expand(list)
		if err != nil {
			require.Nil(t, names)
			return
		}
		if len(names) > 2000 {
			t.Skip("it takes long to compare so many")
		}
		require.NotEmpty(t, names)
		require.LessOrEqual(t, len(names), NamesMax)
		require.False(t, slices.ContainsFunc(names, func(name string) bool { return name == "" || len(name) > NameBytesMax }))
		again, err := Expand(strings.Join(names, ","))
		require.NoError(t, err)
		require.Equal(t, names, again)
	})
}
