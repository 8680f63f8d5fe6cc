package term

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/viaduct-hpc/viaduct/internal/watch/table"
	"github.com/viaduct-hpc/viaduct/internal/watch/view"
)

// A model is the state of the screen and the user's choices.
type model struct {
	ctx    context.Context
	source view.Source
	every  time.Duration

	query         table.Query
	tab           Tab // "" until the user or the first view chooses
	chosen        int // server
	paused        bool
	typing        bool   // a filter
	typed         string // so far
	problem       string // with the filter, or a source that fails
	view          *view.View
	width, height int
	round         int // number of the present round of fetching; a result of an earlier round starts no fetch
}

// fetched is the result of a fetch.
type fetched struct {
	view  *view.View
	err   error
	round int
}

// due begins the next fetch.
type due struct{ round int }

func newModel(ctx context.Context, source view.Source, o Options) *model {
	m := &model{ctx: ctx, source: source, every: o.Every, query: o.Query, tab: o.Tab, width: 80, height: 24}
	m.fitQuery()
	return m
}

// Init implements tea.Model.
func (m *model) Init() tea.Cmd { return m.fetch() }

func (m *model) fetch() tea.Cmd {
	m.round++
	ctx, source, q, round := m.ctx, m.source, m.query, m.round
	return func() tea.Msg {
		v, err := source.View(ctx, q)
		return fetched{v, err, round}
	}
}

// Update implements tea.Model.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		m.fitQuery()
	case fetched:
		return m, m.took(msg)
	case due:
		if msg.round == m.round && !m.paused {
			return m, m.fetch()
		}
	case tea.KeyPressMsg:
		if m.typing {
			return m, m.edit(msg)
		}
		return m, m.key(msg.String())
	}
	return m, nil
}

func (m *model) took(f fetched) tea.Cmd {
	if f.round != m.round {
		return nil
	}
	m.problem = ""
	if f.err != nil {
		m.problem = f.err.Error()
	} else {
		m.view = f.view
		if m.tab == "" {
			m.tab = tabOf(m.view)
		}
	}
	return tea.Tick(m.every, func(time.Time) tea.Msg { return due{f.round} })
}

// key reacts to a key outside the filter.
func (m *model) key(key string) tea.Cmd {
	switch key {
	case "q", "ctrl+c", "esc":
		return tea.Quit
	case "1", "2", "3", "4":
		m.tab = Tabs[key[0]-'1']
	case "tab":
		m.tab = Tabs[(slices.Index(Tabs, m.tab)+1)%len(Tabs)]
	case "/":
		m.typing, m.typed, m.tab = true, m.query.Filter, Peers
	case "s", "S":
		return m.sortBy(map[string]int{"s": 1, "S": -1}[key])
	case "r":
		m.query.Ascending = !m.query.Ascending
		return m.fetch()
	case "p", "space":
		if m.paused = !m.paused; !m.paused {
			return m.fetch()
		}
	case "down", "j", "pgdown", "up", "k", "pgup", "home", "end":
		return m.move(key)
	}
	return nil
}

// move goes to another page of peers, or another server.
func (m *model) move(key string) tea.Cmd {
	by := map[string]int{"down": 1, "j": 1, "up": -1, "k": -1, "pgdown": m.query.Limit, "pgup": -m.query.Limit, "home": -table.LimitMax, "end": table.LimitMax}[key]
	if m.view == nil {
		return nil
	}
	switch m.tab {
	case Servers:
		m.chosen = min(max(m.chosen+by, 0), max(len(m.view.Servers)-1, 0))
	case Peers:
		m.query.Offset = min(max(m.query.Offset+by, 0), max(min(m.view.Peers.Matched, table.LimitMax)-m.query.Limit, 0))
		return m.fetch()
	}
	return nil
}

// sortBy goes to the next column that the table can be sorted by.
func (m *model) sortBy(step int) tea.Cmd {
	var names []string
	for _, c := range peerColumns(new(view.View)) {
		if c.sort != "" {
			names = append(names, c.sort)
		}
	}
	i := slices.Index(names, m.query.Sort)
	if i < 0 && step < 0 {
		i = 0
	}
	m.query.Sort, m.query.Offset = names[(i+step+len(names))%len(names)], 0
	return m.fetch()
}

// edit reacts to a key in the filter.
func (m *model) edit(msg tea.KeyPressMsg) tea.Cmd {
	switch key := msg.String(); key {
	case "ctrl+c":
		return tea.Quit
	case "esc":
		m.typing = false
	case "enter":
		m.typing = false
		q := m.query
		q.Filter, q.Offset = m.typed, 0
		q, err := table.New(q)
		if err != nil {
			m.problem = err.Error()
			return nil
		}
		m.query = q
		return m.fetch()
	case "backspace":
		if r := []rune(m.typed); len(r) > 0 {
			m.typed = string(r[:len(r)-1])
		}
	case "ctrl+u":
		m.typed = ""
	default:
		if text := msg.Key().Text; len(m.typed)+len(text) <= table.FilterBytesMax {
			m.typed += text
		}
	}
	return nil
}

// Lines around the table.
const (
	headLines = 4 // summary, tabs, and empty lines
	footLines = 2
)

// fitQuery asks for as many peers as there is room for.
func (m *model) fitQuery() { m.query.Limit = max(m.height-headLines-footLines-1, 1) }

// View implements tea.Model.
func (m *model) View() tea.View {
	v := tea.NewView(strings.Join(m.lines(), "\n"))
	v.AltScreen = true
	return v
}

func (m *model) lines() []string {
	if m.view == nil {
		return []string{cmp.Or(m.problem, "asking …")}
	}
	room := max(m.height-headLines-footLines, 3)
	body := tabLines(m.view, m.tab, m.width, room-1, m.chosen)
	body = first(body, room)
	lines := []string{cut(summary(m.view), m.width), "", cut(tabLine(m.view, m.tab), m.width), ""}
	lines = append(lines, body...)
	for len(lines) < m.height-footLines {
		lines = append(lines, "")
	}
	return append(lines, cut(m.status(), m.width), cut(faint.in(m.help()), m.width))
}

// status is the line that describes the view, or an error.
func (m *model) status() string {
	switch {
	case m.typing:
		return "filter: " + m.typed + reverse.in(" ")
	case m.problem != "":
		return red.in(m.problem)
	case m.paused:
		return yellow.in("paused")
	case m.tab == Peers:
		return pageText(m.view, m.query, len(m.view.Peers.Rows))
	case len(m.view.Notes) > 0:
		return yellow.in(strings.Join(m.view.Notes, " · "))
	}
	return ""
}

func (m *model) help() string {
	if m.typing {
		return "enter: filter   esc: as it was   words of an address, or state=READY, round-trip>5ms, queued>0"
	}
	text := "1-4, tab: table   p: pause   q: quit"
	switch m.tab {
	case Peers:
		text += "   s: sort by the next column   r: reverse   /: filter   up, down, page keys: other peers"
	case Servers:
		text += "   up, down: another server"
	}
	return text
}
