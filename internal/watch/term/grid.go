package term

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// A style is how text looks on a terminal: the parameters of SGR; "" is plain.
type style string

const (
	plain   style = ""
	bold    style = "1"
	faint   style = "2"
	reverse style = "7"
	red     style = "1;31"
	green   style = "32"
	yellow  style = "33"
)

// in puts a style around text. Text of processes has no control characters: package gather has cleaned it.
func (s style) in(text string) string {
	if s == plain || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// A column of a table.
type column[T any] struct {
	title  string
	sort   string // its name in queries, if they can sort by it
	number bool   // aligned to the right
	text   func(row *T) string
	style  func(row *T) style // may be nil
}

// A grid is a table as text: cells with widths.
type grid struct {
	titles []string
	number []bool
	cells  [][]string
	styles [][]style
}

func gridOf[T any](columns []column[T], rows []T) *grid {
	g := new(grid)
	for _, c := range columns {
		g.titles, g.number = append(g.titles, c.title), append(g.number, c.number)
	}
	for i := range rows {
		cells, styles := make([]string, len(columns)), make([]style, len(columns))
		for j, c := range columns {
			cells[j] = c.text(&rows[i])
			if c.style != nil {
				styles[j] = c.style(&rows[i])
			}
		}
		g.cells, g.styles = append(g.cells, cells), append(g.styles, styles)
	}
	return g
}

const gap = 2 // blanks between columns

// lines lays the table out. If it is wider than width, the widest text columns become narrower, and what is still too wide is cut;
// width 0 is no limit.
func (g *grid) lines(width int, head style) []string {
	widths := g.widths()
	g.fit(widths, width)
	out := []string{cut(head.in(strings.TrimRight(g.line(g.titles, nil, widths), " ")), width)}
	for i := range g.cells {
		out = append(out, cut(strings.TrimRight(g.line(g.cells[i], g.styles[i], widths), " "), width))
	}
	return out
}

func (g *grid) widths() []int {
	widths := make([]int, len(g.titles))
	for i, t := range g.titles {
		widths[i] = ansi.StringWidth(t)
	}
	for _, cells := range g.cells {
		for i, c := range cells {
			widths[i] = max(widths[i], ansi.StringWidth(c))
		}
	}
	return widths
}

// textMin is the width below which no column of text goes.
const textMin = 12

func (g *grid) fit(widths []int, width int) {
	total := gap * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	for width > 0 && total > width {
		widest := -1
		for i, w := range widths {
			if !g.number[i] && w > textMin && (widest < 0 || w > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return
		}
		widths[widest]--
		total--
	}
}

func (g *grid) line(cells []string, styles []style, widths []int) string {
	var b strings.Builder
	for i, text := range cells {
		if i > 0 {
			b.WriteString(strings.Repeat(" ", gap))
		}
		text = ansi.Truncate(text, widths[i], "…")
		fill := strings.Repeat(" ", max(widths[i]-ansi.StringWidth(text), 0))
		if styles != nil {
			text = styles[i].in(text)
		}
		if g.number[i] {
			text, fill = fill, text
		}
		b.WriteString(text)
		b.WriteString(fill)
	}
	return b.String()
}

// cut shortens a line to a width; 0 is no limit.
func cut(line string, width int) string {
	if width <= 0 {
		return line
	}
	return ansi.Truncate(line, width, "…")
}
