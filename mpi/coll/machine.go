package coll

// A Machine describes the machine that the ranks of an operation run on: which hosts they are on,
// and a table of measured algorithms. It belongs to one Comm of one rank; on all ranks of the
// communicator it must say the same.
type Machine struct {
	where  Where
	tuning *Tuning // nil: none
	hosts  *Hosts  // nil unless there are several hosts, some of them with several ranks

	host    int  // the caller's
	local   part // the ranks of the caller's host
	leaders part // one rank of each host
	// Memory of operations that divide a buffer by hosts or by ranks of a host.
	pieces, others [][]byte
}

// NewMachine makes the Machine of a Comm. A nil hosts means that all ranks are on one
// host. The result is nil if there is nothing to know: all ranks are on one host, and
// tuning is nil.
func NewMachine(c Comm, hosts *Hosts, tuning *Tuning) *Machine {
	m := &Machine{where: hosts.Where(), tuning: tuning}
	switch {
	case m.where == OneHost && tuning == nil:
		return nil
	case m.where != ManyHosts:
		return m
	}
	m.hosts = hosts
	rank := c.Rank()
	m.host = int(hosts.of[rank])
	from, to := int(hosts.begin[m.host]), int(hosts.begin[m.host+1])
	m.local = part{c: c, rank: hosts.position(rank), size: to - from, base: from, instead: -1}
	if hosts.members != nil {
		m.local.ranks = hosts.members[from:to]
	}
	m.leaders = part{c: c, rank: m.host, size: hosts.Size(), instead: -1}
	if tuning != nil {
		m.local.machine = &Machine{where: OneHost, tuning: tuning}
	}
	m.leaders.machine = &Machine{where: HostEach, tuning: tuning}
	return m
}

// known returns the hosts that a hierarchical algorithm can use, or nil.
func (m *Machine) known() *Hosts {
	if m == nil {
		return nil
	}
	return m.hosts
}

// choose returns the algorithm for an operation on n ranks: that of the table, or
// Hierarchical if choose.go prefers it, or Auto. bytes is the size that the table
// means: see Tuning.
func (m *Machine) choose(op Operation, n, bytes int) Choice {
	if m == nil {
		return Auto
	}
	if choice := m.tuning.choose(op, m.where, n, bytes); choice != Auto {
		return choice
	}
	if m.hosts != nil && chooseHierarchy(op, m.hosts, bytes) {
		return Hierarchical
	}
	return Auto
}

// far tells whether every rank is on a host of its own.
func (m *Machine) far() bool { return m != nil && m.where == HostEach }

// lead returns the leaders of an operation with a root: the root leads its own host.
// It returns nil on a rank that does not lead. head is the leader of the caller's host
// among its ranks.
func (m *Machine) lead(root int) (leaders *part, head int) {
	host := int(m.hosts.of[root])
	m.leaders.ranks, m.leaders.instead, m.leaders.root = m.hosts.leaders, host, root
	if m.host == host {
		head = m.hosts.position(root)
	}
	if m.local.rank != head {
		return nil, head
	}
	return &m.leaders, head
}

// first returns the leaders of an operation without a root, and nil on a rank that
// does not lead. They are the first of the ranks of each host.
func (m *Machine) first() *part {
	if m.local.rank != 0 {
		return nil
	}
	m.leaders.ranks, m.leaders.instead = m.hosts.leaders, -1
	return &m.leaders
}

// last is first for the last of the ranks of each host.
func (m *Machine) last() *part {
	if m.local.rank != m.local.size-1 {
		return nil
	}
	m.leaders.ranks, m.leaders.instead = m.hosts.lasts, -1
	return &m.leaders
}

// mine returns the blocks of the caller's host in a buffer of one piece for each rank,
// host by host.
func (m *Machine) mine(buf []byte, piece int) []byte {
	return buf[int(m.hosts.begin[m.host])*piece : int(m.hosts.begin[m.host+1])*piece]
}

// A part is a Comm of some ranks of another.
type part struct {
	c          Comm
	rank, size int
	ranks      []int32 // rank i is ranks[i] of the other Comm; nil means base+i
	base       int
	instead    int // rank instead is root; -1: none
	root       int
	machine    *Machine
}

func (p *part) Rank() int         { return p.rank }
func (p *part) Size() int         { return p.size }
func (p *part) Machine() *Machine { return p.machine }

func (p *part) at(i int) int {
	switch {
	case i == p.instead:
		return p.root
	case p.ranks == nil:
		return p.base + i
	}
	return int(p.ranks[i])
}

func (p *part) Send(to int, b []byte) error { return p.c.Send(p.at(to), b) }

func (p *part) Recv(from int, b []byte) error { return p.c.Recv(p.at(from), b) }

func (p *part) Exchange(to int, out []byte, from int, in []byte) error {
	return p.c.Exchange(p.at(to), out, p.at(from), in)
}

func (p *part) Isend(to int, b []byte) (Pending, error) { return p.c.Isend(p.at(to), b) }

func (p *part) Irecv(from int, b []byte) (Pending, error) { return p.c.Irecv(p.at(from), b) }
