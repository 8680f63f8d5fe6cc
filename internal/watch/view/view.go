package view

import (
	"context"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/watch"
	"github.com/viaduct-hpc/viaduct/internal/watch/table"
)

// A Sample is the snapshot of one process, or the reason why there is none.
type Sample struct {
	Target   string          // where it came from, as the user wrote it or as a folder has it
	Snapshot *watch.Snapshot // with a table; nil if Err is set
	Err      error
}

// A View is many processes at one moment.
type View struct {
	Taken     time.Time
	Processes []Process
	Peers     Peers
	Servers   []Server
	Jobs      []Job
	Notes     []string // sentences about data that the view lacks
}

// A Process is one process, or a target that did not answer.
type Process struct {
	Target, Error          string `json:",omitempty"`
	Program, Host, Version string
	PID                    int
	Running                float64 // seconds since its start
	Endpoints, Peers       int
	UnexpectedMessages     int
	UnexpectedBytes        int
	Methods                []Method
	Rates                  watch.Rates // of all methods
	QueuedSends            int
	Retransmissions, Lost  uint64
}

// A Method is a method of a process, over all its endpoints.
type Method struct {
	Name, Address string
	Rates         watch.Rates
}

// Peers are some of the peers of all processes.
type Peers struct {
	Known, Matched, Offset int
	States                 map[string]int
	Sum                    watch.Sum
	Rows                   []Peer
}

// A Peer is a peer of a process.
type Peer struct {
	watch.Row
	Process int // its index in View.Processes
}

// A Server is a file server.
type Server struct {
	Process                   int
	Alias, FileSystem, Error  string
	Rate, FailRate            float64 // requests per second
	Active                    uint64
	Kinds                     []Kind
	ReadRate, WriteRate       float64 // bytes per second
	BytesRead, BytesWritten   uint64
	SpaceTotal, SpaceFree     uint64
	Heal, Scrub               *Progress `json:",omitempty"`
	Refused                   []Refusal
	RefusedTotal, RefusedRate float64
}

// A Kind is the requests of one kind.
type Kind struct {
	Name           string
	Count, Failed  uint64
	Active         uint64
	Rate, FailRate float64
	Mean           float64 // of the latency, in seconds
	// Of the latency since the last view, or since the start of the server if there were no requests meanwhile.
	P50, P90, P99 Quantile
}

// A Quantile is a time below which a part of the requests stayed.
type Quantile struct {
	Seconds float64
	Over    bool `json:",omitempty"` // the time is longer than Seconds, the last bound of the histogram
}

// Progress is how far a long work has come.
type Progress struct {
	watch.Progress
	Rate float64 // units per second
	Left float64 // seconds to the end at this rate; 0: unknown
}

// A Refusal is a reason for refusals, and their number.
type Refusal struct {
	Reason string
	Count  uint64
	Rate   float64
}

// A Job is the ranks of an MPI job that answer.
type Job struct {
	Name      string
	Size      int
	Seen      int    // ranks that answer
	Missing   string // those that do not, as 3,7-9
	Waiting   int    // ranks that wait in a call
	Stuck     int    // ranks that probably wait for ever
	Cycles    []Cycle
	Ranks     []Rank   // those that probably wait for ever first, then those that have waited longest
	Left      int      // ranks left out of Ranks
	Edges     [][2]int // who waits for whom
	EdgesLeft int      // edges left out
}

// A Cycle is ranks that wait for each other.
type Cycle struct {
	Ranks string   // all of them, as 3,7-9
	Path  []int    // a shortest circle among them: each waits for the next, and the last for the first; none if they wait for any rank
	Calls []string // what each of Path waits in
}

// A Rank is a process of a job.
type Rank struct {
	Rank, Process int
	Host          string
	PID           int
	Stuck         bool
	Cycle         int // its cycle in Job.Cycles, counted from 1; 0: none
	Waits         []Wait
}

// A Wait is a call that waits.
type Wait struct {
	Call    string
	For     string // ranks, as 3,7-9; "any"
	Tag     int    // -1: any
	Seconds float64
}

// A Source makes views.
type Source interface {
	View(ctx context.Context, q table.Query) (*View, error)
}
