package watch

import "time"

// A Snapshot is what a process shows at one moment. It travels as JSON.
type Snapshot struct {
	Program   string // name of the executable
	Host      string
	PID       int
	Version   string
	Started   time.Time
	Taken     time.Time
	Counts    []Count // every counter and level of package bmi/about, by name
	Endpoints []Endpoint
	Table     *Table  `json:",omitempty"` // instead of the peers of Endpoints, if a part of them was asked for
	Server    *Server `json:",omitempty"` // a file server
	Rank      *Rank   `json:",omitempty"` // a process of an MPI job
}

// A Count is a counter, a level or a timer. The names are those of package bmi/about, with dots.
type Count struct {
	Name, Class, Text string
	Value             float64 // seconds, if Seconds is set
	Seconds           bool    `json:",omitempty"` // of timers and other times
}

// An Endpoint is an open endpoint of package bmi.
type Endpoint struct {
	Methods []Method
	// Unexpected messages in the queue, which the program has not taken.
	UnexpectedMessages, UnexpectedBytes int
	Peers                               []Peer
}

// A Method is an open method of an endpoint.
type Method struct {
	Name, Address                                            string // Address: where it listens; several are separated by commas
	BytesSent, BytesReceived, MessagesSent, MessagesReceived uint64
}

// A Peer is another endpoint that messages go to or come from.
type Peer struct {
	Method, Address, State                                   string    // State: of package peer
	Since                                                    time.Time `json:",omitzero"` // when the state began; zero: the method does not know
	Credits, Window                                          int       // credits to send with; packets or bytes that may be in flight
	QueuedSends, QueuedBytes                                 int
	Retransmissions, Lost                                    uint64 // packets
	RoundTrip                                                time.Duration
	BytesSent, BytesReceived, MessagesSent, MessagesReceived uint64
	Rails                                                    []Rail `json:",omitempty"`
}

// A Rail is one of several connections with a peer.
type Rail struct {
	Name, State              string
	BytesSent, BytesReceived uint64
}

// A Server is a file server.
type Server struct {
	Alias, FileSystem       string
	Requests                []Request // by kind
	BytesRead, BytesWritten uint64
	SpaceTotal, SpaceFree   uint64            // bytes
	Heal, Scrub             *Progress         `json:",omitempty"` // nil: there was none since the start
	Refused                 map[string]uint64 // by reason
}

// A Request has the statistics of a server's requests of one kind.
type Request struct {
	Kind                  string
	Count, Failed, Active uint64
	// The latencies, in seconds: Counts[i] requests took at most Bounds[i] and more than the bound
	// before; the last of Counts, which has no bound, took longer. Bounds ascend.
	Bounds []float64
	Counts []uint64
	Sum    float64 // of the latencies
}

// Progress is how far a long work has come.
type Progress struct {
	Running         bool
	Done, Total     uint64 // in Unit; Total is 0 if it is unknown
	Unit            string // "bytes", "datafiles"
	Found, Repaired uint64
}

// A Rank is a process of an MPI job.
type Rank struct {
	Job        string
	Rank, Size int
	// Waits are what calls of the process wait for now.
	Waits []Wait
}

// A Wait is a call that waits.
type Wait struct {
	Call  string // "MPI_Recv", "MPI_Allreduce", ...
	Peers []int  // ranks of MPI_COMM_WORLD that it waits for; empty: any
	Tag   int    // -1: any
	Since time.Time
}
