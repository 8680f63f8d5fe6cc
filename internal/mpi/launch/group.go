package launch

import (
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/mpi/pmi"
	"github.com/viaduct-hpc/viaduct/internal/mpi/pmi/server"
	"github.com/viaduct-hpc/viaduct/internal/mpi/pmi/wire"
)

// A group is the processes that were started together: the first ones of the job, or spawned ones.
type group struct {
	number    int         // 0 for the first
	size      int         // number of processes on all hosts
	server    *server.Job // nil at the launcher of a job on several hosts: there the agents serve
	processes []*process  // all, in order of ranks; at an agent those of its host
	running   int         // number of processes started and not ended
	ready     int         // number that have called Init; on several hosts, 1 means some
	abandoned bool        // it could not be started completely, so its events are ignored
	// late fires when the processes in Init have waited for the others for the longest allowed
	// time.
	late *time.Timer
	// spawned answers the process that asked for the group; it may be nil.
	spawned func(error)
}

// at returns the process of a rank, or nil.
func (g *group) at(rank int) *process {
	i, ok := slices.BinarySearchFunc(g.processes, rank, func(p *process, rank int) int { return p.rank - rank })
	if !ok {
		return nil
	}
	return g.processes[i]
}

// mapping is the key that tells programs built with MPICH that all ranks share a machine.
const mapping = "PMI_process_mapping"

// newGroup makes a group without starting it. The programs are resolved.
func (j *job) newGroup(programs []Program, preput map[string]string) *group {
	g := &group{number: j.numbers}
	j.numbers++
	for app, program := range programs {
		for range program.N {
			p := &process{job: j, group: g, rank: g.size, local: g.size, app: app, program: program}
			g.processes = append(g.processes, p)
			g.size++
		}
	}
	if j.tree == nil {
		pairs := map[string]string{mapping: fmt.Sprintf("(vector,(0,1,%d))", g.size)}
		maps.Copy(pairs, preput)
		g.server = server.New(server.Config{
			Name: j.groupName(g.number), Size: g.size, Universe: max(runtime.NumCPU(), g.size), AppNum: g.app,
			Preput: pairs, Names: &j.names,
			Spawn: func(rank int, programs []wire.Spawn) ([]int, error) {
				return j.spawn(g.processes[rank], programs)
			},
			Changed: g.changed, Abort: g.abort,
		})
	}
	return g
}

// groupName is the name of a group for PMI.
func (j *job) groupName(number int) string { return fmt.Sprintf("%s_%d", j.name, number) }

// app, changed and abort are functions of server.Config.
func (g *group) app(rank int) int { return g.at(rank).app }

func (g *group) changed(rank int, s server.State) {
	p := g.at(rank)
	p.job.tell(event{process: p, kind: changed, state: s})
}

func (g *group) abort(rank, code int, message string) {
	p := g.at(rank)
	p.job.tell(event{process: p, kind: aborted, code: code, text: message})
}

// start starts all processes of a group. If one cannot be started, the earlier ones keep running.
func (g *group) start(stdin io.Reader) error {
	for _, p := range g.processes {
		var in *os.File
		if p.rank == 0 && stdin != nil {
			var err error
			if in, err = feed(stdin); err != nil {
				return err
			}
		}
		if err := p.start(in); err != nil {
			return err
		}
		p.job.running++
		g.running++
	}
	return nil
}

// feed returns the reading end of a pipe with the input of r.
func feed(r io.Reader) (*os.File, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	go func() {
		_, _ = io.Copy(write, r) // until the reader is gone
		_ = write.Close()
	}()
	return read, nil
}

// environment returns the environment of a process.
func (p *process) environment() []string {
	var env []string
	ownKey, keyFile := true, ""
	for _, pair := range slices.Concat(p.job.cfg.Env, p.program.Env) {
		key, value, _ := strings.Cut(pair, "=")
		if slices.Contains(notInherited, key) {
			continue
		}
		if value != "" && slices.Contains(udpKeyVariables, key) {
			ownKey = false
		}
		if key == pmi.KeyFileEnv {
			keyFile = value
		}
		env = append(env, pair)
	}
	for _, pair := range [][2]string{
		{pmi.FDEnv, strconv.Itoa(pmiFD)}, {pmi.RankEnv, strconv.Itoa(p.rank)}, {pmi.SizeEnv, strconv.Itoa(p.group.size)},
		{localRankVariable, strconv.Itoa(p.local)}, {localSizeVariable, strconv.Itoa(len(p.group.processes))},
	} {
		env = append(env, pair[0]+"="+pair[1])
	}
	if p.group.number > 0 {
		env = append(env, pmi.SpawnedEnv+"=1")
	}
	return append(env, p.job.keys(ownKey, keyFile)...)
}

// keys returns variables with the job's secret, or with the file in which the user keeps it.
func (j *job) keys(udp bool, file string) []string {
	secret := hex.EncodeToString(j.secret)
	switch {
	case file != "" && udp:
		return []string{udpKeyFileVariable + "=" + file}
	case file != "":
		return nil
	case udp:
		return []string{pmi.KeyEnv + "=" + secret, udpKeyVariable + "=" + secret}
	}
	return []string{pmi.KeyEnv + "=" + secret}
}

func (g *group) signal(s unix.Signal, alone bool) {
	if g.server == nil {
		g.signalHosts(s, alone)
		return
	}
	for _, p := range g.processes {
		p.signal(s, alone)
	}
}

// label returns the text before each line of a rank.
func (g *group) label(rank int) string {
	if g.number == 0 {
		return fmt.Sprintf("[%d] ", rank)
	}
	return fmt.Sprintf("[%d.%d] ", g.number, rank)
}

// notReady returns the ranks that have not called Init and still may.
func (g *group) notReady() (ranks []int) {
	for _, p := range g.processes {
		if !p.gone && g.server.State(p.rank) == server.Started {
			ranks = append(ranks, p.rank)
		}
	}
	return ranks
}
