package coll

// The hierarchical algorithms: within each host, then between one rank of each host,
// then within each host again. A step is an operation on a part of the ranks, with the
// algorithm that Auto has for that part. Data are in the order host by host in between;
// if the ranks of each host are consecutive, that is the order of ranks.
//
// The tables are completed here because a step looks at the tables, too, and Go does
// not initialize a variable by functions that use it.
func init() {
	barriers = append(barriers, entry[barrierFunc]{name: Hierarchical, run: barrierHosts, hosts: true})
	bcasts = append(bcasts, entry[bcastFunc]{name: Hierarchical, run: bcastHosts, hosts: true})
	gathers = append(gathers, entry[gatherFunc]{name: Hierarchical, run: gatherHosts, hosts: true})
	scatters = append(scatters, entry[scatterFunc]{name: Hierarchical, run: scatterHosts, hosts: true})
	allgathers = append(allgathers, entry[allgatherFunc]{name: Hierarchical, run: allgatherHosts, hosts: true})
	allgathervs = append(allgathervs, entry[allgathervFunc]{name: Hierarchical, run: allgathervHosts, hosts: true})
	alltoalls = append(alltoalls, entry[alltoallFunc]{name: Hierarchical, run: alltoallHosts, hosts: true})
	reduces = append(reduces, entry[reduceFunc]{name: Hierarchical, run: reduceHosts, hosts: true})
	allreduces = append(allreduces, entry[allreduceFunc]{name: Hierarchical, run: allreduceHosts, hosts: true})
	reduceScatters = append(reduceScatters, entry[reduceScatterFunc]{name: Hierarchical, run: reduceScatterHosts, hosts: true, inOrder: true})
	scans = append(scans, entry[scanFunc]{name: Hierarchical, run: scanHosts, hosts: true, inOrder: true})
	exscans = append(exscans, entry[scanFunc]{name: Hierarchical, run: exscanHosts, hosts: true, inOrder: true})
}

// barrierHosts: the ranks of a host report to their leader, the leaders wait for each
// other, and each releases its host.
func barrierHosts(c Comm) error {
	m := c.Machine()
	if err := report(&m.local); err != nil {
		return err
	}
	if leaders := m.first(); leaders != nil {
		if err := Barrier(leaders, Auto); err != nil {
			return err
		}
	}
	return release(&m.local)
}

func bcastHosts(c Comm, buf []byte, root int, s *Scratch) error {
	m := c.Machine()
	leaders, head := m.lead(root)
	if leaders != nil {
		if err := Bcast(leaders, buf, int(m.hosts.of[root]), s, Auto); err != nil {
			return err
		}
	}
	return Bcast(&m.local, buf, head, s, Auto)
}

// packed returns memory for one piece for each rank, host by host: out itself if that
// is the order of ranks.
func (m *Machine) packed(out []byte, s *Scratch) []byte {
	if m.hosts.members == nil {
		return out
	}
	return s.bytes(len(out))
}

func gatherHosts(c Comm, in, out []byte, root int, s *Scratch) error {
	defer s.release(s.mark())
	m := c.Machine()
	leaders, head := m.lead(root)
	if leaders == nil {
		return Gather(&m.local, in, nil, head, s, Auto)
	}
	h, rootHost := m.hosts, int(m.hosts.of[root])
	if c.Rank() != root {
		piece := len(in)
		block := s.bytes(m.local.size * piece)
		if err := Gather(&m.local, in, block, head, s, Auto); err != nil {
			return err
		}
		if h.uniform {
			return Gather(leaders, block, nil, rootHost, s, Auto)
		}
		return Gatherv(leaders, block, nil, rootHost, s)
	}
	piece := len(out) / c.Size()
	all := m.packed(out, s)
	own := m.mine(all, piece)
	copy(own[head*piece:], out[root*piece:(root+1)*piece])
	if err := Gather(&m.local, nil, own, head, s, Auto); err != nil {
		return err
	}
	var err error
	if h.uniform {
		err = Gather(leaders, nil, all, rootHost, s, Auto)
	} else {
		m.pieces = h.blocks(m.pieces, all, piece)
		err = Gatherv(leaders, nil, m.pieces, rootHost, s)
	}
	if err != nil {
		return err
	}
	h.unpack(out, all, piece)
	return nil
}

func scatterHosts(c Comm, in, out []byte, root int, s *Scratch) error {
	defer s.release(s.mark())
	m := c.Machine()
	leaders, head := m.lead(root)
	if leaders == nil {
		return Scatter(&m.local, nil, out, head, s, Auto)
	}
	h, rootHost := m.hosts, int(m.hosts.of[root])
	if c.Rank() != root {
		block := s.bytes(m.local.size * len(out))
		var err error
		if h.uniform {
			err = Scatter(leaders, nil, block, rootHost, s, Auto)
		} else {
			err = Scatterv(leaders, nil, block, rootHost, s)
		}
		if err != nil {
			return err
		}
		return Scatter(&m.local, block, out, head, s, Auto)
	}
	piece := len(in) / c.Size()
	all := m.packed(in, s)
	h.pack(all, in, piece)
	var err error
	if h.uniform {
		err = Scatter(leaders, all, nil, rootHost, s, Auto)
	} else {
		m.pieces = h.blocks(m.pieces, all, piece)
		err = Scatterv(leaders, m.pieces, nil, rootHost, s)
	}
	if err != nil {
		return err
	}
	return Scatter(&m.local, m.mine(all, piece), nil, head, s, Auto)
}

func allgatherHosts(c Comm, out []byte, s *Scratch) error {
	defer s.release(s.mark())
	m, rank := c.Machine(), c.Rank()
	h, piece := m.hosts, len(out)/c.Size()
	mine := out[rank*piece : (rank+1)*piece]
	all := m.packed(out, s)
	if leaders := m.first(); leaders != nil {
		own := m.mine(all, piece)
		copy(own, mine)
		if err := Gather(&m.local, nil, own, 0, s, Auto); err != nil {
			return err
		}
		var err error
		if h.uniform {
			err = Allgather(leaders, nil, all, s, Auto)
		} else {
			m.pieces = h.blocks(m.pieces, all, piece)
			err = Allgatherv(leaders, nil, m.pieces, s, Auto)
		}
		if err != nil {
			return err
		}
	} else if err := Gather(&m.local, mine, nil, 0, s, Auto); err != nil {
		return err
	}
	if err := Bcast(&m.local, all, 0, s, Auto); err != nil {
		return err
	}
	h.unpack(out, all, piece)
	return nil
}

// allgathervHosts packs the pieces host by host on all ranks.
func allgathervHosts(c Comm, out [][]byte, s *Scratch) error {
	defer s.release(s.mark())
	m, rank := c.Machine(), c.Rank()
	h := m.hosts
	all := s.bytes(total(out))
	m.pieces, m.others = m.pieces[:0], m.others[:0]
	rest := all
	for host := range h.Size() {
		block := rest
		length := 0
		for i := h.begin[host]; i < h.begin[host+1]; i++ {
			n := len(out[h.member(int(i))])
			if host == m.host {
				m.others = append(m.others, rest[length:length+n])
			}
			length += n
		}
		m.pieces = append(m.pieces, block[:length])
		rest = rest[length:]
	}
	if leaders := m.first(); leaders != nil {
		if err := Gatherv(&m.local, out[rank], m.others, 0, s); err != nil {
			return err
		}
		if err := Allgatherv(leaders, nil, m.pieces, s, Auto); err != nil {
			return err
		}
	} else if err := Gatherv(&m.local, out[rank], nil, 0, s); err != nil {
		return err
	}
	if err := Bcast(&m.local, all, 0, s, Auto); err != nil {
		return err
	}
	for i := range out {
		all = all[copy(out[h.member(i)], all):]
	}
	return nil
}

// alltoallHosts: the leader of a host collects all that its ranks send, and exchanges
// with each other leader one block: what all ranks of the one host send to all ranks
// of the other.
func alltoallHosts(c Comm, in, out []byte, s *Scratch) error {
	m := c.Machine()
	leaders := m.first()
	if leaders == nil {
		if err := Gather(&m.local, in, nil, 0, s, Auto); err != nil {
			return err
		}
		return Scatter(&m.local, nil, out, 0, s, Auto)
	}
	defer s.release(s.mark())
	h, local := m.hosts, m.local.size
	piece := len(out) / c.Size()
	byRank, byHost := s.bytes(local*len(in)), s.bytes(local*len(in))
	if err := Gather(&m.local, in, byRank, 0, s, Auto); err != nil {
		return err
	}
	rest := byHost
	for host := range h.Size() {
		for i := range local {
			row := byRank[i*len(in):]
			for j := h.begin[host]; j < h.begin[host+1]; j++ {
				to := h.member(int(j))
				rest = rest[copy(rest, row[to*piece:(to+1)*piece]):]
			}
		}
	}
	var err error
	if h.uniform {
		err = Alltoall(leaders, byHost, byRank, s, Auto)
	} else {
		m.pieces, m.others = h.blocks(m.pieces, byHost, local*piece), h.blocks(m.others, byRank, local*piece)
		err = Alltoallv(leaders, m.pieces, m.others, s, Auto)
	}
	if err != nil {
		return err
	}
	// Now byRank has, host by host and rank by rank, the pieces for the ranks of this host.
	for j := range c.Size() {
		from := h.member(j)
		for i := range local {
			copy(byHost[i*len(in)+from*piece:][:piece], byRank[(j*local+i)*piece:])
		}
	}
	return Scatter(&m.local, byHost, out, 0, s, Auto)
}

// reduceHosts combines in rank order if the ranks of each host are consecutive.
func reduceHosts(c Comm, r reduction, in, out []byte, root int, s *Scratch) error {
	defer s.release(s.mark())
	m, count := c.Machine(), len(in)/r.size
	leaders, head := m.lead(root)
	if leaders == nil {
		return Reduce(&m.local, in, nil, r.t, count, r.op, head, s, Auto)
	}
	rootHost := int(m.hosts.of[root])
	if out != nil { // the root's contribution is there already
		if err := Reduce(&m.local, nil, out, r.t, count, r.op, head, s, Auto); err != nil {
			return err
		}
		return Reduce(leaders, nil, out, r.t, count, r.op, rootHost, s, Auto)
	}
	acc := s.bytes(len(in))
	if err := Reduce(&m.local, in, acc, r.t, count, r.op, head, s, Auto); err != nil {
		return err
	}
	return Reduce(leaders, acc, nil, r.t, count, r.op, rootHost, s, Auto)
}

func allreduceHosts(c Comm, r reduction, buf []byte, s *Scratch) error {
	m, count := c.Machine(), len(buf)/r.size
	if leaders := m.first(); leaders != nil {
		if err := Reduce(&m.local, nil, buf, r.t, count, r.op, 0, s, Auto); err != nil {
			return err
		}
		if err := Allreduce(leaders, nil, buf, r.t, count, r.op, s, Auto); err != nil {
			return err
		}
	} else if err := Reduce(&m.local, buf, nil, r.t, count, r.op, 0, s, Auto); err != nil {
		return err
	}
	return Bcast(&m.local, buf, 0, s, Auto)
}

// reduceScatterHosts: a leader's part of the vector is the parts of all ranks of its
// host.
func reduceScatterHosts(c Comm, r reduction, p parts, in, out []byte, s *Scratch) error {
	m, count := c.Machine(), len(in)/r.size
	leaders := m.first()
	if leaders == nil {
		if err := Reduce(&m.local, in, nil, r.t, count, r.op, 0, s, Auto); err != nil {
			return err
		}
		return Scatterv(&m.local, nil, out, 0, s)
	}
	defer s.release(s.mark())
	acc := s.bytes(len(in))
	if err := Reduce(&m.local, in, acc, r.t, count, r.op, 0, s, Auto); err != nil {
		return err
	}
	counts := make([]int, m.hosts.Size())
	for rank, host := range m.hosts.of {
		counts[host] += p.count(rank)
	}
	block := s.bytes(counts[m.host] * r.size)
	if err := ReduceScatter(leaders, acc, block, counts, r.t, r.op, s, Auto); err != nil {
		return err
	}
	m.pieces = m.pieces[:0]
	for i := range m.local.size {
		length := p.count(m.local.at(i)) * r.size
		m.pieces = append(m.pieces, block[:length])
		block = block[length:]
	}
	return Scatterv(&m.local, m.pieces, out, 0, s)
}

// scanHosts: the last rank of a host has the result of its host, so the last ranks
// find out among themselves what comes before each host.
func scanHosts(c Comm, r reduction, buf []byte, s *Scratch) error {
	m := c.Machine()
	if err := Scan(&m.local, nil, buf, r.t, len(buf)/r.size, r.op, s, Auto); err != nil {
		return err
	}
	defer s.release(s.mark())
	before := s.bytes(len(buf))
	copy(before, buf)
	if err := m.before(r, before, s); err != nil {
		return err
	}
	if m.host > 0 {
		r.combine(buf, before, true)
	}
	return nil
}

func exscanHosts(c Comm, r reduction, buf []byte, s *Scratch) error {
	defer s.release(s.mark())
	m := c.Machine()
	before, below := s.bytes(len(buf)), s.bytes(len(buf))
	copy(before, buf)
	if err := Exscan(&m.local, nil, buf, r.t, len(buf)/r.size, r.op, s, Auto); err != nil {
		return err
	}
	if m.local.rank > 0 {
		copy(below, buf)
		r.combine(before, below, true)
	}
	if err := m.before(r, before, s); err != nil {
		return err
	}
	switch {
	case m.host == 0:
	case m.local.rank == 0:
		copy(buf, before)
	default:
		r.combine(buf, before, true)
	}
	return nil
}

// before gives every rank the result of all hosts before its own. buf is, on the last
// rank of each host, the result of that host. The first host has nothing before it.
func (m *Machine) before(r reduction, buf []byte, s *Scratch) error {
	if last := m.last(); last != nil {
		if err := Exscan(last, nil, buf, r.t, len(buf)/r.size, r.op, s, Auto); err != nil {
			return err
		}
	}
	if m.host == 0 {
		return nil
	}
	return Bcast(&m.local, buf, m.local.size-1, s, Auto)
}
