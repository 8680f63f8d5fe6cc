package tool_test

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi/about"
	"github.com/viaduct-hpc/viaduct/internal/golden"
	"github.com/viaduct-hpc/viaduct/internal/plugins/guest"
	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/tool"
	"github.com/viaduct-hpc/viaduct/plugins"
)

// listed are the methods of the page.
var listed = []string{"tcp", "tcps", "via+shm", "via+udp"}

// TestPage: docs/reference/mpi-variables.md lists everything there is.
func TestPage(t *testing.T) {
	t.Setenv("VIADUCT_UDP_INSECURE", "1")
	alone(t, "via+shm,via+udp,tcp", func(t *testing.T, _ *mpi.Process, i *tool.Interface) {
		p := page{t: t, rows: make(map[string][]row)}
		fmt.Fprint(&p.out, `# Variables, categories and events of the tools interface

`+"What `mpi/tool` shows ([mpi-trouble.md](../guides/mpi-trouble.md#slow)). METHOD is the name of a method, such as `via+shm`; a variable that not every method has is\n"+
			"listed with those that do. PLUGIN is a method of a plugin. `go test ./mpi/tool -run TestPage -update` writes this page; the test compares it with the program.\n")
		p.controls(i)
		p.variables(i)
		p.events(i)
		p.categories(i)
		golden.Check(t, "../../docs/reference/mpi-variables.md", p.out.Bytes())
	})
}

// A page is docs/reference/mpi-variables.md.
type page struct {
	t    *testing.T
	out  bytes.Buffer
	rows map[string][]row // by name; METHOD stands for a method's name
}

// A row is the text for a name. method is "" if the variable does not belong to a method.
type row struct{ method, text string }

// goodName is how names look; goodText how texts do.
var (
	goodName = regexp.MustCompile(`^(mpi|bmi)(\.[a-z][a-z0-9_]*|\.via\+[a-z]+)+$`)
	goodText = regexp.MustCompile(`^[^.\s].*[^.\s]$`)
)

// add adds the rest of a row, of something in the test's own method "mem" or in others.
func (p *page) add(name, text, rest string) {
	assert.Regexp(p.t, goodName, name)
	assert.Regexp(p.t, goodText, text, name)
	parts := strings.SplitN(name, ".", 3)
	if len(parts) < 2 || parts[0] != "bmi" || !slices.Contains(append(listed, "mem"), parts[1]) {
		p.rows[name] = append(p.rows[name], row{"", rest})
		return
	}
	if parts[1] == "mem" {
		return // it is not a user's
	}
	method := parts[1]
	parts[1] = "METHOD"
	p.rows[strings.Join(parts, ".")] = append(p.rows[strings.Join(parts, ".")], row{method, rest})
}

// flush writes the rows; of how many methods a name must be so as to be every method's.
func (p *page) flush(title, head string, every int) {
	fmt.Fprintf(&p.out, "\n## %s\n\n%s\n|%s\n", title, head, strings.Repeat(" --- |", strings.Count(head, "|")-1))
	names := make([]string, 0, len(p.rows))
	for name := range p.rows {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		rows := p.rows[name]
		same := !slices.ContainsFunc(rows, func(r row) bool { return r.text != rows[0].text })
		if len(rows) == every && same || rows[0].method == "" {
			assert.True(p.t, same && (len(rows) == every || len(rows) == 1), name)
			fmt.Fprintf(&p.out, "| `%s` | %s |\n", name, rows[0].text)
			continue
		}
		slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(a.method, b.method) })
		for len(rows) > 0 { // those with one text
			var of []string
			text := rows[0].text
			rows = slices.DeleteFunc(rows, func(r row) bool {
				if r.text != text {
					return false
				}
				of = append(of, "`"+strings.Replace(name, "METHOD", r.method, 1)+"`")
				return true
			})
			fmt.Fprintf(&p.out, "| %s | %s |\n", strings.Join(of, ", "), text)
		}
	}
	clear(p.rows)
}

func (p *page) controls(i *tool.Interface) {
	all, err := i.Controls()
	require.NoError(p.t, err)
	for _, c := range all {
		env := ""
		if c.Env != "" {
			env = "`" + c.Env + "`"
		}
		p.add(c.Name, c.Text, fmt.Sprintf("%s | %s | %s | %s", env, kindOf(c.Zero), c.Scope, c.Text))
	}
	for _, s := range about.Settings("bmi.PLUGIN.plugin", plugins.Options{}) {
		p.rows[s.Name] = []row{{"", fmt.Sprintf(" | %s | constant | %s", kindOf(s.Value), s.Text)}}
	}
	p.flush("Control variables", "| name | environment | type | scope | meaning |", len(listed))
}

// kindOf names the type of a setting.
func kindOf(value any) string {
	return strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", value), "time."))
}

func (p *page) variables(i *tool.Interface) {
	all, err := i.Performance()
	require.NoError(p.t, err)
	for _, v := range all {
		text := v.Text
		if len(v.Enum) > 0 {
			text += ": " + strings.Join(v.Enum, ", ")
		}
		p.add(v.Name, v.Text, fmt.Sprintf("%s | %s | %s", v.Class, v.Binding, text))
	}
	for _, c := range about.Counts("bmi.PLUGIN.loop", guest.LoopStats{}) {
		p.rows[c.Name] = []row{{"", fmt.Sprintf("%s | %s | %s", c.Class, tool.OfProcess, c.Text)}}
	}
	p.flush("Performance variables", "| name | class | of a | meaning |", 3) // tcps is not open
}

func (p *page) events(i *tool.Interface) {
	all, err := i.Events()
	require.NoError(p.t, err)
	for _, e := range all {
		var elements []string
		for _, el := range e.Elements {
			assert.Regexp(p.t, goodText, el.Text, e.Name)
			elements = append(elements, fmt.Sprintf("`%s` (%s)", el.Name, el.Text))
		}
		p.add(e.Name, e.Text, fmt.Sprintf("%s | %s", e.Text, strings.Join(elements, ", ")))
	}
	p.flush("Events", "| name | meaning | elements |", 1)
	sources, err := i.EventSources()
	require.NoError(p.t, err)
	fmt.Fprintln(&p.out)
	for _, s := range sources {
		order := "come in the order in which they happen"
		if !s.Ordered {
			order = "of different methods may come in another order"
		}
		fmt.Fprintf(&p.out, "- Events of source `%s`, %s, %s.\n", s.Name, s.Text, order)
	}
}

func (p *page) categories(i *tool.Interface) {
	all, err := i.Categories()
	require.NoError(p.t, err)
	for _, c := range all {
		text := c.Text
		for _, method := range listed {
			if before, ok := strings.CutSuffix(text, "method "+method); ok {
				text = before + "a method"
			}
		}
		p.add(c.Name+".x", text, text)
	}
	for name, rows := range p.rows { // ".x" made the names of methods visible to add
		delete(p.rows, name)
		p.rows[strings.TrimSuffix(name, ".x")] = rows
	}
	p.flush("Categories", "| name | meaning |", len(listed))
}
