package ops

import (
	"encoding/binary"
	"fmt"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/via/link"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// Memory that peers read and write without this side's help (bmi.RemoteAccessor): RDMA on memory that
// stays registered, between Expose and Withdraw, under the protection tag of one link. When the link
// ends, its key is of no use any more.

// errNoAccess: the peer's memory cannot be accessed over the present link, if there is one.
var errNoAccess = fmt.Errorf("%w: RDMA over this connection", bmi.ErrNotSupported)

// Expose opens memory to a peer (bmi.RemoteAccessor).
func (o *Ops) Expose(to bmi.Peer, mem []byte) (bmi.Exposure, error) {
	r := to.(*Peer)
	switch {
	case o.links.RDMANowBytes() == 0 || !r.Link.Open() || !r.Link.Reads() || !r.Link.Writes():
		return nil, errNoAccess
	case o.exposed == ExposuresMax:
		return nil, fmt.Errorf("%w: %d pieces of memory are exposed, the most an endpoint may have", bmi.ErrAgain, ExposuresMax)
	}
	x := &exposure{o: o}
	if !r.Link.Register(&x.memory, [][]byte{mem}, link.Both, 1) || x.memory.Regions() == 0 {
		return nil, fmt.Errorf("%w: the NIC cannot register the memory", bmi.ErrAgain)
	}
	o.exposed++
	return x, nil
}

// Key implements bmi.Exposure.
func (x *exposure) Key() (key bmi.RemoteKey) {
	if piece := x.memory.Pieces(nil, 0); len(piece) == 1 {
		binary.LittleEndian.PutUint64(key[:], piece[0].Addr)
		binary.LittleEndian.PutUint64(key[8:], piece[0].Handle)
	}
	return key
}

// Withdraw implements bmi.Exposure.
func (x *exposure) Withdraw() {
	o := x.o
	if !x.memory.Withdraw() {
		o.withdrawing.Add(x) // the next Poll tries again
		return
	}
	o.exposed--
}

// withdrawAll tries again what could not be withdrawn.
func (o *Ops) withdrawAll() { o.withdrawing.Each((*exposure).Withdraw) }

// Access moves bytes between local memory and exposed memory of a peer (bmi.RemoteAccessor).
func (o *Ops) Access(to bmi.Peer, key bmi.RemoteKey, off uint64, mem []byte, write bool) error {
	r := to.(*Peer)
	if len(mem) == 0 || len(mem) > o.links.RDMANowBytes() {
		return errNoAccess
	}
	remote := nic.Remote{
		Addr:   binary.LittleEndian.Uint64(key[:]) + off,
		Handle: nic.Handle(binary.LittleEndian.Uint64(key[8:])),
	}
	if err := r.Link.Now(write, remote, mem); err != nil {
		if link.Full(err) {
			return bmi.ErrAgain
		}
		return fmt.Errorf("%w: %w", errNoAccess, err)
	}
	if write {
		r.Traffic.BytesSent += uint64(len(mem))
	} else {
		r.Traffic.BytesReceived += uint64(len(mem))
	}
	return nil
}

// AccessBytes implements bmi.RemoteAccessor.
func (o *Ops) AccessBytes() int { return o.links.RDMANowBytes() }
