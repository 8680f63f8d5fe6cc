package reliable

// Stats are the counts of a lane.
type Stats struct {
	Sent       uint64 `about:"segments, once each"`
	Resent     uint64 `about:"transmissions beyond the first"`
	Lost       uint64 `about:"transmissions found lost because later ones arrived"`
	Late       uint64 `about:"transmissions found lost that arrived after all, before they were retransmitted"`
	Spurious   uint64 `about:"retransmissions that were not needed, as far as acks tell"`
	Timeouts   uint64 `about:"transmissions repeated because nothing arrived"`
	Arrived    uint64 `about:"segments of the peer, once each"`
	Duplicates uint64 `about:"segments of the peer that had arrived before"`
	Refused    uint64 `about:"segments of the peer for which there was no room"`
	Beyond     uint64 `about:"segments beyond the window: the peer breaks the rules"`
	AcksSent   uint64 `about:"packets that acked new arrivals"`
	AcksTaken  uint64 `about:"packets with an ack, whether new or not"`
	Impossible uint64 `about:"packets that ack segments that were never sent"`
	BadEchoes  uint64 `about:"echoes that are impossible"`
}

// Add adds the counts of another lane.
func (s *Stats) Add(o Stats) {
	s.Sent += o.Sent
	s.Resent += o.Resent
	s.Lost += o.Lost
	s.Late += o.Late
	s.Spurious += o.Spurious
	s.Timeouts += o.Timeouts
	s.Arrived += o.Arrived
	s.Duplicates += o.Duplicates
	s.Refused += o.Refused
	s.Beyond += o.Beyond
	s.AcksSent += o.AcksSent
	s.AcksTaken += o.AcksTaken
	s.Impossible += o.Impossible
	s.BadEchoes += o.BadEchoes
}
