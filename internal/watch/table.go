package watch

// A Table is the part of a process's peers that a viewer asked for (package table). A snapshot that has one has no peers in its
// endpoints: a process with 10,000 peers sends some rows, not all.
type Table struct {
	Known   int            // peers of all endpoints
	Matched int            // those that the filter lets through
	Offset  int            // of the first row, among those that matched
	States  map[string]int // number of peers in each state, of all
	Sum     Sum            // over all
	Rows    []Row
}

// A Sum adds up all peers of a process, including those that the filter excludes.
type Sum struct {
	QueuedSends, QueuedBytes int
	Retransmissions, Lost    uint64
	Rates                    Rates
}

// A Row is a peer, and how fast its counters grow.
type Row struct {
	Peer
	Endpoint int // its index in Snapshot.Endpoints
	Rates    Rates
}

// Rates are changes per second since an earlier snapshot of the same process.
type Rates struct {
	BytesSent, BytesReceived, MessagesSent, MessagesReceived float64
	Retransmissions, Lost                                    float64
}

// Add adds other rates.
func (r *Rates) Add(o Rates) {
	r.BytesSent += o.BytesSent
	r.BytesReceived += o.BytesReceived
	r.MessagesSent += o.MessagesSent
	r.MessagesReceived += o.MessagesReceived
	r.Retransmissions += o.Retransmissions
	r.Lost += o.Lost
}

// Add counts a row.
func (s *Sum) Add(r *Row) {
	s.QueuedSends += r.QueuedSends
	s.QueuedBytes += r.QueuedBytes
	s.Retransmissions += r.Retransmissions
	s.Lost += r.Lost
	s.Rates.Add(r.Rates)
}

// Join adds the sum over another process.
func (s *Sum) Join(o Sum) {
	s.QueuedSends += o.QueuedSends
	s.QueuedBytes += o.QueuedBytes
	s.Retransmissions += o.Retransmissions
	s.Lost += o.Lost
	s.Rates.Add(o.Rates)
}
