package mpi

import (
	"slices"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/bmi/about"
	"github.com/viaduct-hpc/viaduct/internal/environ"
	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/internal/mpi/pmi"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// What package mpi/tool shows of a process and of a communicator.
func init() {
	about.Register(about.Source{Counts: processCounts, Settings: processSettings, Events: &engineEvents})
	about.Register(about.Source{Events: &methodEvents})
	about.Register(about.Source{Binding: about.Communicator, Counts: commCounts})
}

// processCounts returns the counters of a process's engine, endpoint and methods.
func processCounts(object any) []about.Count {
	p, ok := object.(*Process)
	if !ok {
		return nil
	}
	st := p.ep.Stats()
	all := slices.Concat(about.Counts("mpi", p.engine.Stats()), about.Counts("bmi", st.Endpoint))
	all = append(all, about.Count{
		Name: "mpi.early_most", Class: about.HighWatermark,
		Text:  "most messages that waited for their receives at one time",
		Watch: func() about.Watermark { return p.engine.Mark() },
	})
	for _, m := range st.Methods {
		prefix := "bmi." + m.Method
		all = append(all, about.Counts(prefix, m)...)
		for _, c := range m.Own {
			c.Name = prefix + "." + c.Name
			all = append(all, c)
		}
	}
	return all
}

// processSettings returns the settings of a process.
func processSettings(object any) []about.Setting {
	p, ok := object.(*Process)
	if !ok {
		return nil
	}
	o := p.options
	o.Limits = p.engine.Limits()
	o.RanksPerHost = p.told.ranksPerHost
	all := about.Settings("mpi", o)
	about.Changeable(all, "mpi.limits.eager_bytes_max", func(n int) error {
		if n < 0 {
			return errclass.New(errclass.Arg, "%d bytes: give a size, or 0 for the default", n)
		}
		p.engine.ChangeLimits(func(l *core.Limits) { l.EagerBytesMax = n })
		return nil
	})
	about.Changeable(all, "mpi.limits.late_time_max", func(d time.Duration) error {
		p.engine.ChangeLimits(func(l *core.Limits) { l.LateTimeMax = d })
		return nil
	})
	return slices.Concat(all, p.launched, p.ep.Settings())
}

// launchSettings returns the settings of the launcher, for Init, which removes the key of the job from
// the environment.
func launchSettings() []about.Setting {
	return []about.Setting{
		about.FromEnv("mpi.pmi", pmi.VersionEnv, environ.Text(pmi.VersionEnv)),
		about.FromEnv("mpi.pmix_helper", pmi.HelperEnv, environ.Text(pmi.HelperEnv)),
		about.FromEnv("mpi.pmix_library", pmi.LibraryEnv, environ.Text(pmi.LibraryEnv)),
		about.FromEnv("mpi.job_key_file", pmi.KeyFileEnv, environ.Text(pmi.KeyFileEnv)),
		about.SecretFromEnv("mpi.job_key", pmi.KeyEnv, environ.Text(pmi.KeyEnv)),
	}
}

// commCounts returns the counters of a communicator, some of them by rank.
func commCounts(object any) []about.Count {
	var messages, receives int
	var operations uint64
	peers := []bmi.PeerStats{{}}
	if c, ok := object.(*Comm); ok && c != nil {
		messages, receives = c.p2p.Waiting()
		m, r := c.coll.Waiting()
		messages, receives = messages+m, receives+r
		operations = uint64(c.parts.next.Load())
		peers = c.peerStats()
	} else if object != nil {
		return nil
	}
	level := func(name, text string, n int) about.Count {
		return about.Count{Name: name, Class: about.Level, Text: text, Values: []uint64{uint64(n)}}
	}
	all := []about.Count{
		level("mpi.comm.early", "messages of the communicator that wait for their receives", messages),
		level("mpi.comm.posted", "receives of the communicator that wait for messages", receives),
		{Name: "mpi.coll.operations", Text: "collective operations begun on the communicator", Values: []uint64{operations}},
	}
	return append(all, byRank(peers)...)
}

// byRank returns the counts of several peers as arrays.
func byRank(peers []bmi.PeerStats) []about.Count {
	var all []about.Count
	for rank := range peers {
		for i, c := range about.Counts("mpi.comm.peer", peers[rank]) {
			if rank == 0 {
				c.Values = append(make([]uint64, 0, len(peers)), c.Values...)
				all = append(all, c)
			} else {
				all[i].Values = append(all[i].Values, c.Values...)
			}
		}
	}
	return all
}

// peerStats returns the counts of the connections with the ranks that messages go to; zeros where
// there is no connection, and sums where there are two.
func (c *Comm) peerStats() []bmi.PeerStats {
	to := c.group
	if c.remote != nil {
		to = c.remote
	}
	all := make([]bmi.PeerStats, to.Size())
	connections := c.p.engine.Connections()
	for _, st := range c.p.ep.Stats().Peers {
		proc := connections[st.Addr]
		if proc == nil || !to.Contains(proc) {
			continue
		}
		if sum := &all[to.Rank(proc)]; sum.Addr == "" {
			*sum = st
		} else {
			sum.Add(&st)
		}
	}
	return all
}

// Elements of events.
var (
	elemProcess = about.Element{Name: "process", Text: "the process"}
	elemRank    = about.Element{Name: "rank", Text: "its rank in the world; -1 if it is in another one"}
	elemCause   = about.Element{Name: "cause", Text: "why"}
	elemContext = about.Element{Name: "context", Text: "context of the communicator"}
	elemMethod  = about.Element{Name: "method", Text: "the method"}
	elemPeer    = about.Element{Name: "peer", Text: "address of the other side"}
)

// engineTypes are the types of events, by core.EventKind.
var engineTypes = []about.EventType{
	core.ProcessFailed:     {Name: "mpi.process_failed", Text: "a process failed", Elements: []about.Element{elemProcess, elemRank, elemCause}},
	core.ProcessLeft:       {Name: "mpi.process_left", Text: "a process left in good order", Elements: []about.Element{elemProcess, elemRank}},
	core.Connected:         {Name: "mpi.connected", Text: "a process said who it is, on a connection", Elements: []about.Element{elemProcess, elemRank}},
	core.Disconnected:      {Name: "mpi.disconnected", Text: "a connection with a process ended", Elements: []about.Element{elemProcess, elemRank}},
	core.ConnectionRefused: {Name: "mpi.connection_refused", Text: "a connection was refused", Elements: []about.Element{elemCause}},
	core.MessageKept: {Name: "mpi.message_kept", Text: "a message arrived before its receive", Elements: []about.Element{
		elemProcess, elemRank, elemContext, {Name: "source", Text: "the sender's rank in the communicator"}, {Name: "tag", Text: "its tag"}, {Name: "bytes", Text: "its length"},
	}},
	core.ScopeRevoked: {Name: "mpi.revoked", Text: "a communicator was revoked", Elements: []about.Element{elemContext}},
}

var engineEvents = about.EventSource{
	Name: "mpi", Text: "the engine of a process", Ordered: true, Types: engineTypes,
	Observe: func(process any, fn func(about.Event)) (stop func()) {
		p := process.(*Process)
		return p.engine.Observe(func(ev core.Event) {
			fn(about.Event{Name: engineTypes[ev.Kind].Name, At: time.Now(), Values: p.elements(ev)})
		})
	},
}

// elements returns the values of an event, as its type says.
func (p *Process) elements(ev core.Event) []any {
	switch ev.Kind {
	case core.ConnectionRefused:
		return []any{ev.Cause.Error()}
	case core.ScopeRevoked:
		return []any{int(ev.Context)}
	}
	rank := p.world.group.Rank(ev.Proc)
	if rank == Undefined {
		rank = -1
	}
	values := []any{ev.Proc.String(), rank}
	switch ev.Kind {
	case core.ProcessFailed:
		values = append(values, ev.Cause.Error())
	case core.MessageKept:
		values = append(values, int(ev.Context), ev.Status.Source, ev.Status.Tag, ev.Status.Bytes)
	}
	return values
}

// methodTypes are the types of events, by bmi.EventKind.
var methodTypes = []about.EventType{
	bmi.Connected:    {Name: "bmi.connected", Text: "a connection of a method began", Elements: []about.Element{elemMethod, elemPeer}},
	bmi.Disconnected: {Name: "bmi.disconnected", Text: "a connection of a method ended", Elements: []about.Element{elemMethod, elemPeer}},
	bmi.TimedOut:     {Name: "bmi.timed_out", Text: "packets are sent again because nothing arrived from the other side", Elements: []about.Element{elemMethod, elemPeer}},
}

var methodEvents = about.EventSource{
	Name: "bmi", Text: "the methods of a process", Types: methodTypes,
	Observe: func(process any, fn func(about.Event)) (stop func()) {
		return process.(*Process).ep.Observe(func(ev bmi.Event) {
			fn(about.Event{Name: methodTypes[ev.Kind].Name, At: time.Now(), Values: []any{ev.Method, ev.Peer}})
		})
	},
}
