package term

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/viaduct-hpc/viaduct/internal/watch/table"
	"github.com/viaduct-hpc/viaduct/internal/watch/view"
)

// A Tab is one of the tables.
type Tab string

// The tabs.
const (
	Peers     Tab = "peers"
	Servers   Tab = "servers"
	Jobs      Tab = "jobs"
	Processes Tab = "processes"
)

// Tabs are all tabs, in their order on the screen.
var Tabs = []Tab{Peers, Servers, Jobs, Processes}

// tabOf is a tab that has something to show.
func tabOf(v *view.View) Tab {
	switch {
	case len(v.Servers) > 0:
		return Servers
	case len(v.Jobs) > 0:
		return Jobs
	case v.Peers.Known > 0:
		return Peers
	}
	return Processes
}

// tabLines are the lines of a table, and what belongs to it. chosen is the server that is shown in full. At most rows of the table
// are shown: -1 is all.
func tabLines(v *view.View, tab Tab, width, rows, chosen int) []string {
	switch tab {
	case Servers:
		return serverLines(v, width, rows, chosen)
	case Jobs:
		return jobLines(v, width, rows)
	case Peers:
		return gridOf(peerColumns(v), first(v.Peers.Rows, rows)).lines(width, bold)
	}
	return gridOf(processColumns(), first(v.Processes, rows)).lines(width, bold)
}

func first[T any](all []T, n int) []T {
	if n >= 0 && n < len(all) {
		return all[:n]
	}
	return all
}

func serverLines(v *view.View, width, rows, chosen int) []string {
	lines := gridOf(serverColumns(), v.Servers).lines(width, bold)
	if rows < 0 || len(v.Servers) == 0 {
		return lines
	}
	chosen = min(max(chosen, 0), len(v.Servers)-1)
	half := max(rows/2, 1)
	if start := max(chosen-half+1, 0); len(lines) > half+1 {
		lines = append(lines[:1], lines[1+start:min(1+start+half, len(lines))]...)
	}
	s := &v.Servers[chosen]
	lines = append(lines, "", cut(bold.in(fmt.Sprintf("%s of %s", s.Alias, s.FileSystem)), width))
	kinds := gridOf(kindColumns(), first(s.Kinds, max(rows-len(lines)-1, 0))).lines(width, bold)
	return append(lines, kinds...)
}

func jobLines(v *view.View, width, rows int) (lines []string) {
	for i := range v.Jobs {
		j := &v.Jobs[i]
		for _, line := range jobText(j) {
			lines = append(lines, cut(line, width))
		}
		left := -1
		if rows >= 0 {
			left = max(rows-len(lines), 1)
		}
		ranks := first(j.Ranks, left)
		lines = append(lines, gridOf(rankColumns(), ranks).lines(width, bold)...)
		if more := j.Left + len(j.Ranks) - len(ranks); more > 0 {
			lines = append(lines, cut(faint.in(fmt.Sprintf("%d more ranks", more)), width))
		}
	}
	return lines
}

// summary is a line with sums of all processes.
func summary(v *view.View) string {
	var states []string
	for _, state := range slices.Sorted(maps.Keys(v.Peers.States)) {
		states = append(states, fmt.Sprintf("%s %d", state, v.Peers.States[state]))
	}
	var sent, received float64
	unexpected := 0
	for i := range v.Processes {
		p := &v.Processes[i]
		sent, received, unexpected = sent+p.Rates.BytesSent, received+p.Rates.BytesReceived, unexpected+p.UnexpectedMessages
	}
	text := fmt.Sprintf("processes %d  peers %d", len(v.Processes), v.Peers.Known)
	if len(states) > 0 {
		text += " (" + strings.Join(states, ", ") + ")"
	}
	return text + fmt.Sprintf("  sent %s  received %s  queued %d  unexpected %d  retransmitted %s",
		byteRate(sent), byteRate(received), v.Peers.Sum.QueuedSends, unexpected, perSecond(v.Peers.Sum.Rates.Retransmissions))
}

// tabLine has the names of all tabs.
func tabLine(v *view.View, tab Tab) string {
	counts := map[Tab]int{Peers: v.Peers.Known, Servers: len(v.Servers), Jobs: len(v.Jobs), Processes: len(v.Processes)}
	var all []string
	for i, t := range Tabs {
		text := fmt.Sprintf(" %d %s %d ", i+1, t, counts[t])
		if t == tab {
			text = reverse.in(text)
		}
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

// pageText says which peers are shown.
func pageText(v *view.View, q table.Query, shown int) string {
	order := "largest first"
	if q.Ascending {
		order = "smallest first"
	}
	text := fmt.Sprintf("by %s, %s", q.Sort, order)
	if q.Filter != "" {
		text += "; filter " + q.Filter
	}
	if shown == 0 {
		return text + fmt.Sprintf("; none of %d", v.Peers.Known)
	}
	return text + fmt.Sprintf("; %d to %d of %d", v.Peers.Offset+1, v.Peers.Offset+shown, v.Peers.Matched)
}
