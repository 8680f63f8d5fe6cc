package term

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/viaduct-hpc/viaduct/internal/watch/view"
)

// jobText describes a job in one line, and each deadlock in one more.
func jobText(j *view.Job) []string {
	text := fmt.Sprintf("job %s: %d ranks, %d wait", j.Name, j.Size, j.Waiting)
	if j.Stuck > 0 {
		text += fmt.Sprintf(", %d probably for ever", j.Stuck)
	}
	if j.Missing != "" {
		text += "; no answer from " + j.Missing
	}
	lines := []string{text}
	for i := range j.Cycles {
		lines = append(lines, red.in("likely deadlock")+": "+CycleText(&j.Cycles[i]))
	}
	return lines
}

// pathShown is how many ranks of a cycle are listed.
const pathShown = 6

// CycleText says which rank of a cycle waits for which.
func CycleText(c *view.Cycle) string {
	if len(c.Path) == 0 {
		return fmt.Sprintf("ranks %s wait for a message of any rank, and none is left that could send one", c.Ranks)
	}
	var all []string
	for i, rank := range c.Path[:min(len(c.Path), pathShown)] {
		all = append(all, fmt.Sprintf("%d waits in %s for %d", rank, c.Calls[i], c.Path[(i+1)%len(c.Path)]))
	}
	text := "rank " + strings.Join(all, ", ")
	if len(c.Path) > pathShown {
		text += fmt.Sprintf(", and so on: %d ranks", len(c.Path))
	}
	return text
}

func rankColumns() []column[view.Rank] {
	waits := func(write func(w *view.Wait) string) func(r *view.Rank) string {
		return func(r *view.Rank) string {
			var all []string
			for i := range r.Waits {
				all = append(all, write(&r.Waits[i]))
			}
			if len(all) == 0 {
				return "-"
			}
			return strings.Join(all, " · ")
		}
	}
	return []column[view.Rank]{
		{title: "RANK", number: true, text: func(r *view.Rank) string { return strconv.Itoa(r.Rank) }},
		{title: "STATE", text: rankState, style: rankStyle},
		{title: "IN", text: waits(func(w *view.Wait) string { return w.Call })},
		{title: "WAITS FOR", text: waits(func(w *view.Wait) string { return w.For })},
		{title: "TAG", number: true, text: waits(func(w *view.Wait) string {
			if w.Tag < 0 {
				return "any"
			}
			return strconv.Itoa(w.Tag)
		})},
		{title: "FOR", number: true, text: waits(func(w *view.Wait) string { return seconds(w.Seconds) })},
		{title: "HOST", text: func(r *view.Rank) string { return r.Host }},
		{title: "PROCESS", number: true, text: func(r *view.Rank) string { return strconv.Itoa(r.PID) }},
	}
}

func rankState(r *view.Rank) string {
	switch {
	case r.Cycle > 0:
		return fmt.Sprintf("deadlock %d", r.Cycle)
	case r.Stuck:
		return "behind one"
	case len(r.Waits) > 0:
		return "waits"
	}
	return "runs"
}

func rankStyle(r *view.Rank) style {
	switch {
	case r.Stuck:
		return red
	case len(r.Waits) > 0:
		return yellow
	}
	return green
}
