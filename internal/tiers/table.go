package tiers

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// Page is the file with the table, relative to the root of the module.
const Page = "docs/internals/testing.md"

// Head begins the table's first line.
const Head = "| package | race | soak |"

// A Soak is an addition of the soak tier for a package, besides running all of its tests
// at full length, with the race detector and without.
type Soak string

const (
	Seeds    Soak = "seeds"    // fresh seeds: its tests know -sim.base and -sim.seeds
	Fuzz     Soak = "fuzz"     // it has fuzz targets
	OrangeFS Soak = "orangefs" // tests with stock OrangeFS, where ORANGEFS_PREFIX names one
)

// soakWords are the allowed contents of the cells.
var soakWords = []Soak{Seeds, Fuzz, OrangeFS}

// A Row says how one package is tested.
type Row struct {
	Package string // its folder relative to the root; "." is the root
	Race    bool   // the race step of .ci/run tests it with the race detector
	Soak    []Soak
	Why     string // why a package with goroutines is tested without the race detector, or the reverse
	Line    int    // of the page
}

// Parse reads the rows of a page.
func Parse(page []byte) ([]Row, error) {
	var rows []Row
	var inside bool
	for i, line := range bytes.Split(page, []byte("\n")) {
		text := string(line)
		switch {
		case strings.HasPrefix(text, Head):
			if rows != nil {
				return nil, fmt.Errorf("tiers: line %d: a second table; there is one", i+1)
			}
			inside = true
		case !inside || strings.HasPrefix(text, "| ---"):
		case !strings.HasPrefix(text, "|"):
			inside = false
		default:
			row, err := parseRow(text)
			if err != nil {
				return nil, fmt.Errorf("tiers: line %d: %w", i+1, err)
			}
			row.Line = i + 1
			rows = append(rows, row)
		}
	}
	if rows == nil {
		return nil, fmt.Errorf("tiers: there is no table that begins with %q", Head)
	}
	return rows, nil
}

// parseRow reads "| `bmi` | yes | seeds, fuzz | why |".
func parseRow(line string) (Row, error) {
	cells := strings.Split(strings.Trim(line, "|"), "|")
	if len(cells) != 4 {
		return Row{}, fmt.Errorf("a row has 4 cells, this one has %d", len(cells))
	}
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	row := Row{Package: strings.Trim(cells[0], "`"), Race: cells[1] == "yes", Why: cells[3]}
	if !row.Race && cells[1] != "no" {
		return Row{}, fmt.Errorf("whether the race detector is used is yes or no, not %q", cells[1])
	}
	for word := range strings.FieldsFuncSeq(cells[2], func(r rune) bool { return r == ',' || r == ' ' }) {
		if !slices.Contains(soakWords, Soak(word)) {
			return Row{}, fmt.Errorf("the soak tier adds some of %q, not %q", soakWords, word)
		}
		row.Soak = append(row.Soak, Soak(word))
	}
	return row, nil
}

// Has reports whether the soak tier adds something.
func (r Row) Has(s Soak) bool { return slices.Contains(r.Soak, s) }
