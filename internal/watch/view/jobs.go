package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/watch"
)

// Limits of a view of a job.
const (
	ranksMax  = 200    // rows
	edgesMax  = 20_000 // pairs of a rank that waits and the rank that it waits for
	cyclesMax = 20
)

// A member is a rank that answered.
type member struct {
	process int
	s       *watch.Snapshot
}

// jobsOf finds the jobs that processes belong to. If two processes claim to be the same rank, the notes say so.
func jobsOf(samples []Sample) (jobs []Job, notes []string) {
	found := make(map[string]map[int]member)
	sizes := make(map[string]int)
	for i, one := range samples {
		if one.Snapshot == nil || one.Snapshot.Rank == nil {
			continue
		}
		r := one.Snapshot.Rank
		if found[r.Job] == nil {
			found[r.Job] = make(map[int]member)
		}
		if _, twice := found[r.Job][r.Rank]; twice {
			notes = append(notes, fmt.Sprintf("%s says that it is rank %d of job %s, as another process does: it is left out", one.Target, r.Rank, r.Job))
			continue
		}
		found[r.Job][r.Rank] = member{i, one.Snapshot}
		sizes[r.Job] = max(sizes[r.Job], r.Size)
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		jobs = append(jobs, jobOf(name, sizes[name], found[name]))
	}
	return jobs, notes
}

func jobOf(name string, size int, members map[int]member) Job {
	j := Job{Name: name, Size: size, Seen: len(members)}
	var missing []int
	for rank := range size {
		if _, ok := members[rank]; !ok {
			missing = append(missing, rank)
		}
	}
	j.Missing = ranges(missing)
	seen := slices.Sorted(maps.Keys(members))
	needs := needsOf(size, seen, members)
	forever := stuck(size, needs)
	cycle := j.findCycles(needs, forever, members)
	for _, rank := range seen {
		m := members[rank]
		r := Rank{Rank: rank, Process: m.process, Host: m.s.Host, PID: m.s.PID, Stuck: forever[rank], Cycle: cycle[rank]}
		for _, w := range m.s.Rank.Waits {
			r.Waits = append(r.Waits, waitOf(w, m.s.Taken))
			j.addEdges(rank, w)
		}
		if len(r.Waits) > 0 {
			j.Waiting++
		}
		if r.Stuck {
			j.Stuck++
		}
		j.Ranks = append(j.Ranks, r)
	}
	slices.SortStableFunc(j.Ranks, func(a, b Rank) int {
		return cmp.Or(cmp.Compare(order(a), order(b)), cmp.Compare(longest(b), longest(a)))
	})
	if extra := len(j.Ranks) - ranksMax; extra > 0 {
		j.Ranks, j.Left = j.Ranks[:ranksMax], extra
	}
	return j
}

// order puts ranks of a cycle first, then those that wait for them.
func order(r Rank) int {
	switch {
	case r.Cycle > 0:
		return 0
	case r.Stuck:
		return 1
	}
	return 2
}

func longest(r Rank) (seconds float64) {
	for _, w := range r.Waits {
		seconds = max(seconds, w.Seconds)
	}
	return seconds
}

func waitOf(w watch.Wait, now time.Time) Wait {
	out := Wait{Call: w.Call, For: ranges(w.Peers), Tag: w.Tag, Seconds: max(now.Sub(w.Since).Seconds(), 0)}
	if len(w.Peers) == 0 {
		out.For = "any"
	}
	return out
}

func (j *Job) addEdges(rank int, w watch.Wait) {
	room := max(edgesMax-len(j.Edges), 0)
	for _, p := range w.Peers[:min(len(w.Peers), room)] {
		j.Edges = append(j.Edges, [2]int{rank, p})
	}
	j.EdgesLeft += max(len(w.Peers)-room, 0)
}

// pointToPoint are calls in which a rank waits for messages of others that need not be in the same call. In all others the ranks
// that are in the call do not hold each other up.
var pointToPoint = map[string]bool{
	"MPI_Send": true, "MPI_Ssend": true, "MPI_Bsend": true, "MPI_Rsend": true, "MPI_Recv": true, "MPI_Sendrecv": true,
	"MPI_Sendrecv_replace": true, "MPI_Probe": true, "MPI_Mprobe": true, "MPI_Mrecv": true, "MPI_Wait": true, "MPI_Waitall": true,
	"MPI_Waitany": true, "MPI_Waitsome": true,
}

// firstComes are calls that return when any one of the ranks has done its part.
var firstComes = map[string]bool{"MPI_Waitany": true, "MPI_Waitsome": true}

// needsOf returns the waits of all ranks. A wait that has just begun counts as satisfied, because its message may be on its way.
func needsOf(size int, seen []int, members map[int]member) (all []need) {
	in := make([]map[string]bool, size) // calls that a rank is in, except for point-to-point
	for _, rank := range seen {
		for _, w := range members[rank].s.Rank.Waits {
			if !pointToPoint[w.Call] {
				if in[rank] == nil {
					in[rank] = make(map[string]bool)
				}
				in[rank][w.Call] = true
			}
		}
	}
	for _, rank := range seen {
		s := members[rank].s
		for _, w := range s.Rank.Waits {
			d := need{rank: rank}
			if s.Taken.Sub(w.Since) >= stuckAfter {
				d.any = len(w.Peers) == 0 || firstComes[w.Call]
				for _, p := range w.Peers {
					if p >= 0 && p < size && !in[p][w.Call] {
						d.peers = append(d.peers, p)
					}
				}
				if d.any && len(w.Peers) > 0 && len(d.peers) == 0 {
					d.any = false
				}
			}
			all = append(all, d)
		}
	}
	return all
}

// findCycles finds ranks that wait for each other, among those that wait for ever. It returns the cycle of each rank, from 1.
func (j *Job) findCycles(needs []need, forever []bool, members map[int]member) map[int]int {
	n := len(forever)
	g := make(graph, n+1) // vertex n stands for any rank: what waits for any leads there, and from there to all
	for _, d := range needs {
		switch {
		case !forever[d.rank]:
		case d.any && len(d.peers) == 0:
			g[d.rank] = append(g[d.rank], n)
		default:
			for _, p := range d.peers {
				if forever[p] {
					g[d.rank] = append(g[d.rank], p)
				}
			}
		}
	}
	for rank, yes := range forever {
		if yes {
			g[n] = append(g[n], rank)
		}
	}
	of := make(map[int]int)
	knots := g.knots()
	for _, knot := range knots {
		slices.Sort(knot)
	}
	slices.SortFunc(knots, func(a, b []int) int { return cmp.Compare(a[0], b[0]) })
	for _, knot := range knots {
		ranks := slices.DeleteFunc(slices.Clone(knot), func(v int) bool { return v == n })
		if len(j.Cycles) == cyclesMax {
			break
		}
		c := Cycle{Ranks: ranges(ranks), Path: g.circle(knot[0])}
		if slices.Contains(c.Path, n) {
			c.Path = nil // they wait for any rank, and none is left
		}
		for _, rank := range c.Path {
			c.Calls = append(c.Calls, members[rank].s.Rank.Waits[0].Call)
		}
		j.Cycles = append(j.Cycles, c)
		for _, rank := range ranks {
			of[rank] = len(j.Cycles)
		}
	}
	return of
}
