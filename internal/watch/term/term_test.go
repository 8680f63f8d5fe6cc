package term

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/golden"
	"github.com/viaduct-hpc/viaduct/internal/watch"
	"github.com/viaduct-hpc/viaduct/internal/watch/table"
	"github.com/viaduct-hpc/viaduct/internal/watch/view"
	"github.com/viaduct-hpc/viaduct/internal/watch/watchtest"
)

// fixtures are processes whose time goes on by a second with each view.
type fixtures struct {
	of      func(second int) []*watch.Snapshot
	err     error
	queries []table.Query

	mu      sync.Mutex
	second  int
	rankers []table.Ranker
	joiner  view.Joiner
}

// View implements view.Source.
func (f *fixtures) View(_ context.Context, q table.Query) (*view.View, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queries = append(f.queries, q)
	if f.err != nil {
		return nil, f.err
	}
	all := f.of(f.second)
	f.second++
	if f.rankers == nil {
		f.rankers = make([]table.Ranker, len(all))
	}
	var samples []view.Sample
	for i, s := range all {
		samples = append(samples, view.Sample{Target: "unix:/run/" + s.Program + s.Host, Snapshot: f.rankers[i].Rank(s, q.Top())})
	}
	return f.joiner.Join(all[0].Taken, samples, q), nil
}

func client(second int) []*watch.Snapshot { return []*watch.Snapshot{watchtest.Client(500, second)} }
func servers(second int) []*watch.Snapshot {
	return []*watch.Snapshot{watchtest.Server("io1", second), watchtest.Server("io2", second)}
}
func job(second int) []*watch.Snapshot { return watchtest.Job(16, second) }

func options(t testing.TB, tab Tab) Options {
	t.Helper()
	q, err := table.New(table.Query{Limit: 10})
	require.NoError(t, err)
	return Options{Tab: tab, Query: q, Every: time.Second}
}

// A screen is a model without a terminal.
type screen struct {
	t *testing.T
	m *model
}

func newScreen(t *testing.T, f *fixtures, width, height int) *screen {
	t.Helper()
	s := &screen{t, newModel(t.Context(), f, options(t, ""))}
	s.send(tea.WindowSizeMsg{Width: width, Height: height})
	s.run(s.m.Init())
	return s
}

// send delivers a message, and the result of a fetch that it starts.
func (s *screen) send(msg tea.Msg) {
	_, cmd := s.m.Update(msg)
	if _, fetch := msg.(fetched); !fetch { // which waits a second before the next
		s.run(cmd)
	}
}

func (s *screen) run(cmd tea.Cmd) {
	if cmd != nil {
		s.send(cmd())
	}
}

// second is the time of the next update.
func (s *screen) second() { s.send(due{s.m.round}) }

func (s *screen) keys(keys ...string) {
	for _, key := range keys {
		codes := map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEscape, "backspace": tea.KeyBackspace, "down": tea.KeyDown, "up": tea.KeyUp, "pgdown": tea.KeyPgDown, "end": tea.KeyEnd, "tab": tea.KeyTab}
		k := tea.Key{Code: codes[key]}
		if k.Code == 0 {
			k = tea.Key{Code: []rune(key)[0], Text: key}
		}
		s.send(tea.KeyPressMsg(k))
	}
}

func (s *screen) text() string { return ansi.Strip(strings.Join(s.m.lines(), "\n")) }

func TestScreens(t *testing.T) {
	for name, c := range map[string]struct {
		of   func(second int) []*watch.Snapshot
		keys []string
	}{
		"peers":     {client, nil},
		"sorted":    {client, []string{"s", "s", "r", "down", "down"}},
		"filtered":  {client, []string{"/", "l", "o", "s", "t", ">", "0", "enter"}},
		"servers":   {servers, []string{"down"}},
		"job":       {job, nil},
		"processes": {job, []string{"4"}},
		"hostile":   {func(second int) []*watch.Snapshot { return []*watch.Snapshot{watchtest.Hostile(second)} }, []string{"1"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScreen(t, &fixtures{of: c.of}, 150, 24)
			s.second()
			s.keys(c.keys...)
			s.second()
			golden.Check(t, "testdata/"+name+".txt", []byte(s.text()+"\n"))
			for width := 1; width < 200; width += 7 {
				for _, height := range []int{1, 5, 24, 60} {
					s.send(tea.WindowSizeMsg{Width: width, Height: height})
					for _, line := range s.m.lines() {
						require.LessOrEqual(t, ansi.StringWidth(line), width)
					}
				}
			}
		})
	}
}

func TestKeys(t *testing.T) {
	f := &fixtures{of: client}
	s := newScreen(t, f, 150, 24)
	require.Equal(t, Peers, s.m.tab)
	s.keys("pgdown")
	require.Equal(t, s.m.query.Limit, s.m.query.Offset)
	s.keys("end")
	require.Equal(t, 500-s.m.query.Limit, s.m.query.Offset)
	s.keys("/", "x", "y", "backspace", "z", "esc")
	require.Empty(t, s.m.query.Filter, "escape leaves the filter as it was")
	s.keys("/", "x", ">", "1", "enter")
	require.Contains(t, s.text(), `there is no column "x"`)
	s.second()
	require.NotContains(t, s.text(), "there is no column")
	s.keys("tab")
	require.Equal(t, Servers, s.m.tab)
	s.keys("down", "up", "3", "up")
	require.Equal(t, Jobs, s.m.tab)
	asked := len(f.queries)
	s.keys("p")
	s.second()
	require.Len(t, f.queries, asked, "paused")
	require.Contains(t, s.text(), "paused")
	s.keys("p")
	require.Len(t, f.queries, asked+1)
	s.send(fetched{round: s.m.round - 1, err: errors.New("late")})
	require.NotContains(t, s.text(), "late", "an answer to an earlier question")
	f.err = errors.New("no answer")
	s.second()
	require.Contains(t, s.text(), "no answer")
	_, cmd := s.m.Update(tea.KeyPressMsg(tea.Key{Code: 'q', Text: "q"}))
	require.IsType(t, tea.QuitMsg{}, cmd())
}

func TestOnce(t *testing.T) {
	for name, of := range map[string]func(int) []*watch.Snapshot{"peers": client, "servers": servers, "job": job} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			require.NoError(t, Once(t.Context(), &out, &fixtures{of: of}, options(t, ""), false))
			golden.Check(t, "testdata/once-"+name+".txt", out.Bytes())
			out.Reset()
			require.NoError(t, Once(t.Context(), &out, &fixtures{of: of}, options(t, Processes), true))
			require.True(t, strings.HasPrefix(out.String(), `{"Taken":"2026-11-26T12:16:41Z"`), "after two views: %.60s", out.String())
			require.Equal(t, 1, strings.Count(out.String(), "\n"))
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			require.ErrorIs(t, Once(ctx, &out, &fixtures{of: of}, options(t, ""), false), context.Canceled)
			failed := errors.New("x")
			require.ErrorIs(t, Once(t.Context(), &out, &fixtures{err: failed}, options(t, ""), false), failed)
		})
	}
}

// A view answers with itself.
type answer view.View

func (a *answer) View(context.Context, table.Query) (*view.View, error) { return (*view.View)(a), nil }

// TestOnceWithNobody: an error says where nobody answers, and why.
func TestOnceWithNobody(t *testing.T) {
	var many []view.Process
	for i := range 7 {
		many = append(many, view.Process{Target: fmt.Sprint("p", i), Error: "refused"})
	}
	some := append([]view.Process{{Target: "p"}}, many...)
	for want, v := range map[string]view.View{
		"nobody answers at here: no process has a socket there":                                               {},
		"nobody answers at here: it is not yours":                                                             {Notes: []string{"it is not yours"}},
		"nobody answers at here: late":                                                                        {Processes: []view.Process{{Target: "here", Error: "late"}}},
		"nobody answers at here: p0: refused, p1: refused, p2: refused, p3: refused, p4: refused, and 2 more": {Processes: many},
		"": {Processes: some},
	} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			o := options(t, "")
			o.Where = "here"
			err := Once(t.Context(), &out, (*answer)(&v), o, false)
			if want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, ErrNobody)
			require.EqualError(t, err, want)
			require.Empty(t, out.String())
		})
	}
}

// A terminal understands the output of Below: lines, and erasing from some line above to the end.
type terminal struct{ lines []string }

func (m *terminal) Write(p []byte) (int, error) {
	text := strings.ReplaceAll(string(p), ansi.EraseScreenBelow, "")
	if rest, ok := strings.CutPrefix(text, "\r\x1b["); ok {
		up := 0
		digits, after, _ := strings.Cut(rest, "A")
		for _, d := range digits {
			up = 10*up + int(d-'0')
		}
		if digits == "" {
			up = 1
		}
		m.lines, text = m.lines[:len(m.lines)-up], after
	}
	for line := range strings.Lines(text) {
		m.lines = append(m.lines, ansi.Strip(strings.TrimSuffix(line, "\n")))
	}
	return len(p), nil
}

func TestBelowTheOutputOfAJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m terminal
		b := ShowBelow(t.Context(), &m, func() (int, int) { return 100, 24 }, &fixtures{of: job}, time.Second)
		synctest.Wait()
		_, _ = b.Write([]byte("step 1\nstep"))
		_, _ = b.Write([]byte(" 2\n"))
		<-time.After(time.Second)
		synctest.Wait()
		_, _ = b.Write([]byte("step 3\nno end"))
		golden.Check(t, "testdata/below.txt", []byte(strings.Join(m.lines, "\n")+"\n"))
		require.NoError(t, b.Close())
		assert.Equal(t, []string{"step 1", "step 2", "step 3", "no end"}, m.lines, "the view is gone, and no output is missing")
	})
	synctest.Test(t, func(t *testing.T) {
		var m terminal
		f := &fixtures{err: errors.New("no such folder")}
		b := ShowBelow(t.Context(), &m, func() (int, int) { return 20, 3 }, f, time.Second)
		synctest.Wait()
		assert.Equal(t, []string{strings.Repeat("─", 19), "no such folder"}, m.lines)
		require.NoError(t, b.Close())
		assert.Empty(t, m.lines)
	})
}
