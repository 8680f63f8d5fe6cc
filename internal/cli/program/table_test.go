package program

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type kilnRow struct {
	Name string `json:"name" table:"NAME"`
	*heat
	Note string `json:"note,omitempty" table:"NOTE"`
	Key  int    `json:"key"`
}

type heat struct {
	Size Bytes   `json:"size_bytes" table:"SIZE"`
	Full Percent `json:"full_percent" table:"USE%"`
	On   bool    `json:"on" table:"ON"`
	Took Micros  `json:"took_us" table:"TOOK"`
}

var kilns = []kilnRow{
	{Name: "a", heat: &heat{1536, 12.4, true, 3.256}, Note: "x < y", Key: 1},
	{Name: "größer", Note: "absent", Key: 2},
}

func TestOneTableForPeopleAndPrograms(t *testing.T) {
	var out bytes.Buffer
	table := NewTable[kilnRow](&out, false)
	for _, row := range kilns {
		require.NoError(t, table.Add(row))
	}
	assert.Empty(t, out.String())
	require.NoError(t, table.Foot(kilnRow{Name: "sum", heat: &heat{Size: 3 << 40}}))
	require.NoError(t, table.Flush())
	assert.Equal(t, ""+
		"NAME       SIZE  USE%  ON      TOOK  NOTE\n"+
		"a       1.5 KiB   12%  yes  3.26 us  x < y\n"+
		"größer                               absent\n"+
		"sum     3.0 TiB    0%  no   0.00 us\n", out.String())

	out.Reset()
	table = NewTable[kilnRow](&out, true).Live().Records() // Live and Records do not change JSON
	for _, row := range kilns {
		require.NoError(t, table.Add(row))
	}
	require.NoError(t, table.Gap())
	require.NoError(t, table.Foot(kilns[0]))
	require.NoError(t, table.Flush())
	assert.Equal(t, ""+
		`{"name":"a","size_bytes":1536,"full_percent":12.4,"on":true,"took_us":3.256,"note":"x < y","key":1}`+"\n"+
		`{"name":"größer","note":"absent","key":2}`+"\n", out.String())
}

func TestLiveTable(t *testing.T) {
	type row struct {
		Name string  `json:"name" table:"NAME,6"`
		Rate string  `json:"-" table:"RATE,5,right"`
		Time Seconds `json:"seconds" table:"TIME"`
	}
	var out bytes.Buffer
	table := NewTable[row](&out, false).Live()
	require.NoError(t, table.Gap())
	require.NoError(t, table.Add(row{"one", "7", 1.5}))
	assert.Equal(t, "NAME     RATE  TIME\none         7  1.50 s\n", out.String())
	require.NoError(t, table.Gap())
	require.NoError(t, table.Add(row{"longer than that", "8", 2}))
	assert.Equal(t, "\nlonger than that      8  2.00 s\n", out.String()[len("NAME     RATE  TIME\none         7  1.50 s\n"):])
	require.NoError(t, table.Flush())
}

type record struct {
	Name  string       `json:"name" table:"name"`
	Limit ExactBytes   `json:"limit_bytes" table:"largest message"`
	Words []string     `json:"words" table:"words"`
	At    *time.Time   `json:"at" table:"at"`
	Lines [][2]string  `json:"-"`
	Ratio float64      `json:"ratio" table:"ratio"`
	Other *map[int]int `json:"-"`
}

// More are lines that are no fields.
func (r record) More() [][2]string { return r.Lines }

func TestRecords(t *testing.T) {
	at := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	var out bytes.Buffer
	table := NewTable[record](&out, false).Records()
	require.NoError(t, table.Add(record{Name: "x", Limit: 8184, Words: []string{"a", "b"}, At: &at, Ratio: 0.25}))
	require.NoError(t, table.Add(record{Name: "y", Lines: [][2]string{{"sockets", "4"}}}))
	require.NoError(t, table.Flush())
	assert.Equal(t, ""+
		"name             x\nlargest message  8184 B\nwords            a, b\nat               2026-01-31 12:00:00\nratio            0.25\n\n"+
		"name             y\nlargest message  0 B\nratio            0\nsockets          4\n", out.String())
}

func TestColours(t *testing.T) {
	for _, c := range []struct {
		terminal bool
		env      map[string]string
		want     bool
	}{
		{true, nil, true},
		{false, nil, false},
		{true, map[string]string{"NO_COLOR": "1"}, false},
		{true, map[string]string{"TERM": "dumb"}, false},
		{true, map[string]string{"CLICOLOR": "0"}, false},
		{false, map[string]string{"CLICOLOR_FORCE": "1"}, true},
		{false, map[string]string{"CLICOLOR_FORCE": "0"}, false},
		{false, map[string]string{"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, false},
	} {
		assert.Equal(t, c.want, wantsColour(c.terminal, func(name string) string { return c.env[name] }), c)
	}
	assert.Equal(t, "plain", Style{}.Bad("plain"))
	assert.Equal(t, "\x1b[1mhead\x1b[22m", Style{on: true}.Bold("head"))
	assert.NotEqual(t, Style{on: true}.Good("x"), Style{on: true}.Bad("x"))
	assert.Empty(t, Style{on: true}.Bold(""))
}
