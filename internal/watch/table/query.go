package table

import (
	"cmp"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/viaduct-hpc/viaduct/internal/watch"
)

// Limits of a query.
const (
	LimitDefault   = 100
	LimitMax       = 100_000 // of the offset and the limit together: processes send all rows up to there
	FilterBytesMax = 200
)

// A Query says which peers are wanted.
type Query struct {
	Sort       string // one of Columns; "": by rate
	Ascending  bool   // smallest first; text is otherwise sorted from Z to A
	Filter     string
	Offset     int
	Limit      int // 0: none, only their number and states
	conditions []condition
}

// sortDefault shows the busiest peer first.
const sortDefault = "rate"

// New checks a query.
func New(q Query) (Query, error) {
	if q.Sort == "" {
		q.Sort = sortDefault
	}
	if numbers[q.Sort] == nil && texts[q.Sort] == nil {
		return q, fmt.Errorf("sort=%.40q: there is no such column; want one of %s", q.Sort, strings.Join(Columns(), ", "))
	}
	if q.Limit < 0 || q.Limit > LimitMax {
		return q, fmt.Errorf("limit=%d: want 0 to %d", q.Limit, LimitMax)
	}
	if q.Offset < 0 || q.Offset > LimitMax-q.Limit {
		return q, fmt.Errorf("offset=%d: want 0 to %d, less the limit; filter, or sort the other way round", q.Offset, LimitMax)
	}
	var err error
	q.conditions, err = parseFilter(q.Filter)
	return q, err
}

// Parse reads a query from the values of a URL. Values that it does not know are for others.
func Parse(v url.Values) (Query, error) {
	q := Query{Sort: v.Get("sort"), Filter: v.Get("filter"), Limit: LimitDefault}
	for name, to := range map[string]*int{"offset": &q.Offset, "limit": &q.Limit} {
		if text := v.Get(name); text != "" {
			n, err := strconv.Atoi(text)
			if err != nil {
				return q, fmt.Errorf("%s=%.40q: want a whole number", name, text)
			}
			*to = n
		}
	}
	switch order := v.Get("order"); order {
	case "", "descending":
	case "ascending":
		q.Ascending = true
	default:
		return q, fmt.Errorf("order=%.40q: want ascending or descending", order)
	}
	return New(q)
}

// Asked reports whether the values of a URL ask for a table.
func Asked(v url.Values) bool {
	return v.Has("sort") || v.Has("filter") || v.Has("offset") || v.Has("limit") || v.Has("order")
}

// Values is the query in a URL. Parse reads it.
func (q Query) Values() url.Values {
	v := url.Values{"sort": {q.Sort}, "offset": {strconv.Itoa(q.Offset)}, "limit": {strconv.Itoa(q.Limit)}}
	if q.Ascending {
		v.Set("order", "ascending")
	}
	if q.Filter != "" {
		v.Set("filter", q.Filter)
	}
	return v
}

// Top is the query whose rows, from all processes, contain the page that q wants of all of them.
func (q Query) Top() Query {
	q.Limit += q.Offset
	q.Offset = 0
	return q
}

// Compare orders two rows as the query wants. Rows that are equal there are ordered by method and address.
func (q Query) Compare(a, b *watch.Row) int {
	order := 0
	if number := numbers[q.Sort]; number != nil {
		order = cmp.Compare(number(a), number(b))
	} else {
		text := texts[q.Sort]
		order = strings.Compare(text(a), text(b))
	}
	if !q.Ascending {
		order = -order
	}
	if order == 0 {
		return ties(a, b)
	}
	return order
}

// ties orders rows with the same value in the column of the sort.
func ties(a, b *watch.Row) int {
	return cmp.Or(strings.Compare(a.Address, b.Address), strings.Compare(a.Method, b.Method), cmp.Compare(a.Endpoint, b.Endpoint))
}
