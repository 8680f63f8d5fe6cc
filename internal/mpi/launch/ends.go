package launch

import (
	"fmt"
	"strings"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/mpi/pmi/server"
)

// takeState handles a process's call of Init or Finalize.
func (j *job) takeState(p *process, s server.State) {
	g := p.group
	if s != server.Ready {
		return
	}
	g.ready++
	j.initialized(g, g.ready == len(g.processes))
}

// initialized handles that some processes of a group have called Init, or all.
func (j *job) initialized(g *group, all bool) {
	if all {
		g.stopLate()
		return
	}
	if g.late == nil && j.cfg.InitTimeout > 0 {
		g.late = time.AfterFunc(j.cfg.InitTimeout, func() { j.tell(event{kind: late, group: g}) })
	}
	for _, other := range g.processes {
		if other.gone && !other.told && other.reached() == server.Started {
			j.deserted(other)
		}
	}
}

func (g *group) stopLate() {
	if g.late != nil {
		g.late.Stop()
	}
}

// takeLate ends the wait of processes in Init for those that have not called it.
func (j *job) takeLate(g *group) {
	if g.server == nil {
		j.askWho(g)
		return
	}
	missing := g.notReady()
	j.endLate(missing, len(missing))
}

// endLate ends a job because n ranks have not called Init. missing has some of these ranks.
func (j *job) endLate(missing []int, n int) {
	if n == 0 || j.ending {
		return
	}
	j.report("%s not called Init within %v, and the others wait for that: the job is ended (--init-timeout gives more time)", ranks(missing, n), j.cfg.InitTimeout)
	j.end(CodeTimeout)
}

// ranks returns a text that lists n ranks, with its verb. list has some of the ranks: "rank 3 has" or
// "ranks 1, 2, 5 and 7 more have".
func ranks(list []int, n int) string {
	if n == 1 {
		return fmt.Sprintf("rank %d has", list[0])
	}
	const shown = 8
	var text []string
	for _, r := range list[:min(len(list), shown)] {
		text = append(text, fmt.Sprint(r))
	}
	more := ""
	if n > shown {
		more = fmt.Sprintf(" and %d more", n-shown)
	}
	return "ranks " + strings.Join(text, ", ") + more + " have"
}

// takeEnds handles the end of a process. It handles ends in the order in which they happened: when
// one causes others, the last output of the first must not make it seem to be later.
func (j *job) takeEnds(p *process) {
	j.early[p.order] = p
	for next := j.early[j.heard]; next != nil; next = j.early[j.heard] {
		delete(j.early, j.heard)
		j.heard++
		j.takeEnd(next)
	}
}

// takeEnd handles the end of one process.
func (j *job) takeEnd(p *process) {
	j.running--
	p.gone = true
	if p.group.running--; p.group.running == 0 && p.group.number > 0 {
		defer j.forget(p.group)
	}
	if p.group.abandoned {
		return
	}
	state := p.reached()
	code, how := p.code()
	if code != 0 && (j.code == 0 || code == j.cause) {
		j.code = code // the first code; but death by the user's signal precedes the failures that it causes
	}
	switch {
	case j.ending:
	case code != 0:
		j.failed(p, how, state)
	case state == server.Ready:
		j.deserted(p)
	case state == server.Started && p.group.ready > 0:
		j.deserted(p)
	}
	if !j.ending && p.group.server != nil { // so that the other processes stop at once
		p.group.server.Gone(p.rank)
	}
}

// failed handles a process that died or did not end with 0. If it had called Finalize, or the
// user's signal ended it, the other processes go on.
func (j *job) failed(p *process, how string, state server.State) {
	p.told = true
	alone := state == server.Finalized || j.cfg.KeepGoing || j.interrupted
	switch {
	case j.interrupted:
		return
	case alone || j.running == 0:
		j.report("%v %s", p, how)
	default:
		j.report("%v %s: %s", p, how, j.endOthers())
	}
	if !alone {
		j.end(CodeFailed)
	}
}

// deserted handles a process that ended with 0 while others still need it.
func (j *job) deserted(p *process) {
	if j.ending || j.interrupted {
		return
	}
	p.told = true
	what := "Finalize"
	if p.reached() == server.Started {
		what = "Init, which others have called"
	}
	text := fmt.Sprintf("%v ended with exit code 0 without calling %s", p, what)
	if j.cfg.KeepGoing {
		j.report("%s", text)
		return
	}
	if j.running > 0 {
		text += ": " + j.endOthers()
	}
	j.report("%s", text)
	j.end(CodeFailed)
}

func (j *job) endOthers() string {
	if j.running == 1 {
		return "the other process is ended, too"
	}
	return fmt.Sprintf("the %d other processes are ended, too", j.running)
}
