package main

import (
	"fmt"
	"strings"
)

// stateReport says in which states the run was made, and what small messages cost in each.
type stateReport struct {
	// Rounds are the states of the ordinary rounds; Busy says them for the runs beside busy processes.
	Rounds []state      `json:"rounds,omitempty"`
	Busy   []string     `json:"busy,omitempty"`
	Small  []smallTable `json:"small,omitempty"`
	// Dropped is the number of rounds of small messages in which the state changed.
	Dropped int `json:"dropped"`
}

// A smallTable is the rows of small messages in one state.
type smallTable struct {
	State state `json:"state"`
	// Rounds may be 0: the state was not met.
	Rounds int     `json:"rounds"`
	Rows   []row   `json:"rows,omitempty"`
	Points []point `json:"points,omitempty"`
}

// add takes over the rounds of small messages, if there were any.
func (r *stateReport) add(s *smallRounds) {
	if len(s.contenders) == 0 {
		return
	}
	r.Dropped = s.rounds[changed]
	for _, one := range bothStates {
		t := smallTable{State: one, Rounds: s.rounds[one]}
		if t.Rounds > 0 {
			t.Rows, t.Points = smallRows(s.by[one]), s.by[one].points()
		}
		r.Small = append(r.Small, t)
	}
}

// lines say in which state each round ran.
func (r *stateReport) lines() string {
	var b strings.Builder
	if len(r.Rounds) > 0 {
		words := make([]string, len(r.Rounds))
		for i, one := range r.Rounds {
			words[i] = string(one)
		}
		fmt.Fprintf(&b, "The two processors in each round: %s.\n\n", strings.Join(words, ", "))
	}
	if len(r.Busy) > 0 {
		fmt.Fprintf(&b, "The two processors in the runs with busy processes: %s.\n\n", strings.Join(r.Busy, ", "))
	}
	return b.String()
}

// markdown has a table for each state.
func (r *stateReport) markdown() string {
	var b strings.Builder
	for _, t := range r.Small {
		fmt.Fprintf(&b, "\n## Small messages, %s\n\n", t.State)
		if t.Rounds == 0 {
			fmt.Fprintf(&b, "**Not met in this run**: there are no numbers for this state.\n")
			continue
		}
		fmt.Fprintf(&b, "Medians of %d rounds in this state.\n\n", t.Rounds)
		writeRows(&b, t.Rows)
	}
	if r.Dropped > 0 {
		fmt.Fprintf(&b, "\nRounds of small messages that were dropped, because the state changed in them: %d.\n", r.Dropped)
	}
	return b.String()
}
