package table

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/watch"
)

// A filter is words, all of which must apply to a row. A word is a part of an address, a method or a state, whatever the case; or
// COLUMN>N, COLUMN<N or COLUMN=X. N may have a unit: 10ms, 3s, 64KiB, 1MB.

// conditionsMax limits the words of a filter.
const conditionsMax = 16

// A condition is a word of a filter.
type condition struct {
	word     string // lower case; a part of a text, if the operator is 0
	number   func(r *watch.Row) float64
	text     func(r *watch.Row) string
	operator byte // '<', '>', '='
	value    float64
}

func parseFilter(filter string) (all []condition, err error) {
	if len(filter) > FilterBytesMax {
		return nil, fmt.Errorf("filter: %d bytes are too many, at most %d", len(filter), FilterBytesMax)
	}
	words := strings.Fields(filter)
	if len(words) > conditionsMax {
		return nil, fmt.Errorf("filter: %d words are too many, at most %d", len(words), conditionsMax)
	}
	for _, word := range words {
		c, err := parseWord(word)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

func parseWord(word string) (condition, error) {
	i := strings.IndexAny(word, "<>=")
	if i < 0 {
		return condition{word: strings.ToLower(word)}, nil
	}
	name, value := strings.ToLower(word[:i]), word[i+1:]
	c := condition{operator: word[i], word: strings.ToLower(value), number: numbers[name], text: texts[name]}
	switch {
	case c.text != nil && c.operator == '=':
		return c, nil
	case c.text != nil:
		return c, fmt.Errorf("filter %q: %s is text and can only be compared by =", word, name)
	case c.number == nil:
		return c, fmt.Errorf("filter %q: there is no column %q; want one of %s", word, name, strings.Join(Columns(), ", "))
	}
	var err error
	c.value, err = parseNumber(value)
	if err != nil {
		return c, fmt.Errorf("filter %q: want a number, or one with a unit such as 10ms or 64KiB, behind %c", word, c.operator)
	}
	return c, nil
}

// sizes are units of bytes.
var sizes = []struct {
	unit  string
	bytes float64
}{
	{"kib", 1 << 10}, {"mib", 1 << 20}, {"gib", 1 << 30}, {"tib", 1 << 40},
	{"kb", 1e3}, {"mb", 1e6}, {"gb", 1e9}, {"tb", 1e12}, {"b", 1},
}

// parseNumber reads a number, a time in seconds, or a size in bytes.
func parseNumber(text string) (float64, error) {
	if d, err := time.ParseDuration(text); err == nil {
		return d.Seconds(), nil
	}
	factor := 1.0
	for _, s := range sizes {
		if digits, ok := strings.CutSuffix(strings.ToLower(text), s.unit); ok {
			text, factor = digits, s.bytes
			break
		}
	}
	n, err := strconv.ParseFloat(text, 64)
	if err == nil && (math.IsNaN(n) || math.IsInf(n*factor, 0)) {
		err = strconv.ErrRange
	}
	return n * factor, err
}

// matches reports whether the filter lets a row through.
func (q *Query) matches(r *watch.Row) bool {
	for i := range q.conditions {
		if !q.conditions[i].holds(r) {
			return false
		}
	}
	return true
}

func (c *condition) holds(r *watch.Row) bool {
	switch {
	case c.operator == 0:
		return contains(r.Address, c.word) || contains(r.Method, c.word) || contains(r.State, c.word)
	case c.text != nil:
		return strings.EqualFold(c.text(r), c.word)
	}
	n := c.number(r)
	switch c.operator {
	case '<':
		return n < c.value
	case '>':
		return n > c.value
	}
	return n == c.value
}

// contains reports whether text contains a word in lower case. Most text is in lower case already, and is not copied.
func contains(text, word string) bool {
	return strings.Contains(text, word) || strings.Contains(strings.ToLower(text), word)
}
