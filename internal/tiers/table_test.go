package tiers

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const page = `# Page

| another | table |
| --- | --- |
| of | others |

` + Head + ` why |
| --- | --- | --- | --- |
| ` + "`.`" + ` | no | | |
| ` + "`bmi`" + ` | yes | seeds, fuzz | a reason |

| one | more |
`

func TestParse(t *testing.T) {
	rows, err := Parse([]byte(page))
	require.NoError(t, err)
	assert.Equal(t, []Row{
		{Package: ".", Line: 9},
		{Package: "bmi", Race: true, Soak: []Soak{Seeds, Fuzz}, Why: "a reason", Line: 10},
	}, rows)
	assert.True(t, rows[1].Has(Fuzz))
	assert.False(t, rows[1].Has(OrangeFS))
}

func TestBadTables(t *testing.T) {
	for name, c := range map[string]struct{ old, new, err string }{
		"no table":           {Head, "| package |", "there is no table"},
		"neither yes nor no": {"| yes |", "| maybe |", `line 10: whether the race detector is used is yes or no, not "maybe"`},
		"unknown soak word":  {"seeds, fuzz", "seeds, fuz", `line 10: the soak tier adds some of ["seeds" "fuzz" "orangefs"], not "fuz"`},
		"a cell too few":     {"| a reason |", "|", "line 10: a row has 4 cells, this one has 3"},
		"two tables":         {"| one | more |", Head + " why |", "line 12: a second table"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(strings.Replace(page, c.old, c.new, 1)))
			require.ErrorContains(t, err, c.err)
		})
	}
}
