package shm

// Stats are a device's counters since it was opened.
type Stats struct {
	// Sent and Received count messages; RDMACalls counts process_vm_* calls
	// and RDMABytes what they moved.
	Sent, Received       uint64
	RDMACalls, RDMABytes uint64
	// FileBytes counts bytes of files put into memory of the other side that is mapped here.
	FileBytes uint64
	// Dropped counts messages of unreliable ports that had no receive.
	Dropped uint64
	// DoorbellsRung counts wake-ups sent to the other side, DoorbellsHeard those received.
	DoorbellsRung, DoorbellsHeard uint64
	// Looks counts epoll calls from Poll, Sleeps those that blocked.
	Looks, Sleeps uint64
	// Cooled counts ports that changed from polling to their doorbell.
	Cooled uint64
	// TrimmedBytes counts buffer memory given back by idle connections.
	TrimmedBytes uint64

	// Connections made, and those that ended because the other side died or broke the rules.
	Connected, PeersDied, ProtocolErrors uint64
	// Strangers counts sockets refused for their user, Malformed those whose first message was not in our
	// format, WrongVersion those with another version, HalfOpen those that sent nothing in time or were
	// crowded out. Probed counts those that closed without sending anything, as a device does that checks
	// whether a name is still in use.
	Strangers, Malformed, WrongVersion, HalfOpen, Probed uint64
	// OtherUsers counts connections of users other than ours and root, and UserLimit those refused because
	// their user had its share of connections or of requests.
	OtherUsers, UserLimit uint64
	// OutOfResources counts connections lost to a limit of this process or
	// machine; Swept counts socket files of dead processes removed.
	OutOfResources, Swept uint64
	// DeregisterBusy counts ErrBusy of Deregister.
	DeregisterBusy uint64
	// Hot and Conns are the present numbers of polled and of all connections.
	Hot, Conns int
}

// Stats returns the counters. Like all methods of a device it must be called by the owner.
func (d *Device) Stats() Stats {
	s := d.stats
	s.Sleeps = d.sleep.count.Load()
	s.Hot = len(d.hot)
	for i := range d.conns {
		if c := d.conns[i].conn; c != nil {
			s.Sent += c.sent
			s.Received += c.received
			s.Conns++
		}
	}
	return s
}
