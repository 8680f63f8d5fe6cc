package program

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Table prints rows of one type, as columns for people or as one JSON object a line, from the same struct. The fields of T are
// the columns, in order, with these tags:
//
//	json:"bytes_used"    the key in JSON, as in encoding/json; with the unit in the name unless a field says the unit
//	table:"USED"         the heading; a field without it is only in JSON
//	table:"USED,9"       the column is 9 wide at least; a Live table needs that for all columns but the last
//	table:"USED,9,right" the column stands to the right, as numbers always do
//
// Fields of embedded structs count as fields of the row; those of an embedded pointer that is nil are empty. Package program has types of fields that are numbers in JSON and show their unit to people.
type Table[T any] struct {
	w       io.Writer
	style   Style
	columns []column
	form    form
	rows    []T
	headed  bool
}

type form int

const (
	asColumns form = iota
	asJSON
	asRecords
	asLive
)

// A column is a field of a row.
type column struct {
	index []int
	head  string
	width int
	right bool
	last  bool
}

// NewTable returns a table that is printed to w by Flush, or as JSON by each Add.
func NewTable[T any](w io.Writer, inJSON bool) *Table[T] {
	t := &Table[T]{w: w, style: StyleOf(w)}
	if inJSON {
		t.form = asJSON
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		tag := append(strings.Split(f.Tag.Get("table"), ","), "", "")
		if tag[0] != "" {
			n, _ := strconv.Atoi(tag[1])
			t.columns = append(t.columns, column{index: f.Index, head: tag[0], width: n, right: tag[2] == "right" || isNumber(f.Type)})
		}
	}
	if len(t.columns) > 0 {
		t.columns[len(t.columns)-1].last = true
	}
	return t
}

// Records makes a table for people that has a line for each field and a block for each row. Empty fields are left out.
func (t *Table[T]) Records() *Table[T] { return t.as(asRecords) }

// Live makes a table for people whose rows are printed at once.
func (t *Table[T]) Live() *Table[T] { return t.as(asLive) }

func (t *Table[T]) as(f form) *Table[T] {
	if t.form != asJSON {
		t.form = f
	}
	return t
}

// JSON tells whether the table is printed as JSON.
func (t *Table[T]) JSON() bool { return t.form == asJSON }

// Add adds a row.
func (t *Table[T]) Add(row T) error {
	switch t.form {
	case asJSON:
		return WriteJSON(t.w, row)
	case asLive:
		if err := t.head(); err != nil {
			return err
		}
		return t.line(t.cells(row), t.widths(), false)
	}
	t.rows = append(t.rows, row)
	return nil
}

// Foot adds a row for people only, such as a sum.
func (t *Table[T]) Foot(row T) error {
	if t.form == asJSON {
		return nil
	}
	return t.Add(row)
}

// Gap prints an empty line in a Live table that has rows.
func (t *Table[T]) Gap() error {
	if t.form != asLive || !t.headed {
		return nil
	}
	_, err := fmt.Fprintln(t.w)
	return err
}

// Flush prints what has been added and not been printed.
func (t *Table[T]) Flush() error {
	rows := t.rows
	t.rows = nil
	switch {
	case len(rows) == 0:
		return nil
	case t.form == asRecords:
		return t.records(rows)
	}
	widths, lines := t.widths(), [][]string{t.heads()}
	for _, row := range rows {
		lines = append(lines, t.cells(row))
	}
	for i := range t.columns {
		for _, line := range lines {
			widths[i] = max(widths[i], width(line[i]))
		}
	}
	for i, line := range lines {
		if err := t.line(line, widths, i == 0); err != nil {
			return err
		}
	}
	return nil
}

func (t *Table[T]) head() error {
	if t.headed {
		return nil
	}
	t.headed = true
	return t.line(t.heads(), t.widths(), true)
}

func (t *Table[T]) heads() (heads []string) {
	for _, c := range t.columns {
		heads = append(heads, c.head)
	}
	return heads
}

func (t *Table[T]) widths() (widths []int) {
	for _, c := range t.columns {
		widths = append(widths, c.width)
	}
	return widths
}

// cells are the texts of a row.
func (t *Table[T]) cells(row T) (cells []string) {
	v := reflect.ValueOf(row)
	for _, c := range t.columns {
		text := ""
		if f, err := v.FieldByIndexErr(c.index); err == nil { // else an embedded pointer is nil
			text = cell(f)
		}
		cells = append(cells, text)
	}
	return cells
}

// line prints one line of columns.
func (t *Table[T]) line(cells []string, widths []int, bold bool) error {
	var b strings.Builder
	for i, text := range cells {
		pad := strings.Repeat(" ", max(0, widths[i]-width(text)))
		if bold {
			text = t.style.Bold(text)
		}
		switch {
		case t.columns[i].right:
			text = pad + text
		case !t.columns[i].last:
			text += pad
		}
		b.WriteString(text)
		if !t.columns[i].last {
			b.WriteString("  ")
		}
	}
	_, err := fmt.Fprintln(t.w, strings.TrimRight(b.String(), " "))
	return err
}

func (t *Table[T]) records(rows []T) error {
	widest := 0
	blocks := make([][][2]string, len(rows))
	for n, row := range rows {
		for i, text := range t.cells(row) {
			if text != "" {
				blocks[n] = append(blocks[n], [2]string{t.columns[i].head, text})
			}
		}
		if d, ok := any(row).(detailer); ok {
			blocks[n] = append(blocks[n], d.More()...)
		}
		for _, line := range blocks[n] {
			widest = max(widest, width(line[0]))
		}
	}
	var b strings.Builder
	for n, block := range blocks {
		if n > 0 {
			b.WriteString("\n")
		}
		for _, line := range block {
			fmt.Fprintf(&b, "%s%s  %s\n", t.style.Bold(line[0]), strings.Repeat(" ", widest-width(line[0])), line[1])
		}
	}
	_, err := io.WriteString(t.w, b.String())
	return err
}

// A detailer is a row of Records with more lines than fields.
type detailer interface{ More() [][2]string }

// WriteJSON prints a value as one line, with < and & as they are.
func WriteJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

func width(text string) int { return utf8.RuneCountInString(text) }
