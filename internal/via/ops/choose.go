package ops

import "github.com/viaduct-hpc/viaduct/internal/via/bulk"

// choose decides how a message moves whose memory this side may read, before Accept. There is a choice where the NIC does RDMA by
// copying: packets are copied, too. A message that moves beside others goes by RDMA: it could not be measured, and what is faster for
// single messages is not for a stream of them.
func (o *Ops) choose(s *opState, size int) choice {
	if !o.caps.RDMACopies || size < bulk.ChoiceMin || size > bulk.ChoiceMax || o.larges.live() > 1 {
		return choice{}
	}
	ways := o.ways[s.r]
	if ways == nil {
		ways = new(bulk.Chooser)
		o.ways[s.r] = ways
	}
	return choice{way: ways.Choose(size), timed: true, began: o.Clock()}
}

// learn notes that a message has moved.
func (o *Ops) learn(s *opState) {
	l := s.large
	if ways := o.ways[s.r]; l.choice.timed && o.larges.live() == 1 && ways != nil {
		ways.Moved(l.transfer.Size(), l.choice.way, o.Clock()-l.choice.began)
	}
}
