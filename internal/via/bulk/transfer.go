package bulk

import (
	"errors"
	"fmt"
)

// State is where a transfer is.
type State uint8

const (
	Unused    State = iota
	Announced       // the sender's: the RTS is sent or queued
	Moving          // the receive is known
	Ended           // both parts are moved, or it failed: the owner frees the memory
	states
)

func (s State) String() string {
	return [states]string{"UNUSED", "ANNOUNCED", "MOVING", "ENDED"}[s]
}

// legal are the transitions. A new transfer begins as Unused.
var legal = [states][states]bool{
	Unused:    {Announced: true, Moving: true},
	Announced: {Moving: true, Ended: true},
	Moving:    {Ended: true},
}

// Mode says how a side moves its part of a message.
type Mode uint8

const (
	None  Mode = iota // this side has no part
	Read              // RDMA read, by the receiver
	Write             // RDMA write, by the sender
	Data              // DATA packets, by the sender
)

func (m Mode) String() string { return [...]string{"nothing", "read", "write", "data"}[m] }

// Actions are what the owner has to do after an event, in the order of the constants.
type Actions uint8

const (
	SendCTS Actions = 1 << iota // ask the sender for the rest, from Mine on; open memory for it before, if possible
	Move                        // give the NIC what Rest says
	SendFin                     // tell the peer that this side's part is moved
	End                         // the message is complete: complete the operation once nothing uses its memory
)

// ErrProtocol: the peer sent a packet that is not allowed in this state, or that names bytes which are not its part.
var ErrProtocol = errors.New("bulk: the peer broke the protocol")

// A Transfer is one side of a large message. The zero value is Unused.
//
// Invariants: begin ≤ next ≤ end ≤ size; done ≤ next-begin; arrived ≤ size, and 0 unless mode is None.
type Transfer struct {
	state State
	mode  Mode

	opened   bool // the sender can write the message here by RDMA
	peerDone bool // the peer moves nothing, or nothing more
	finSent  bool // this side's FIN is out, or none is due

	size int // of the message, bytes

	// This side moves [begin, end). It has given [begin, next) to the NIC, which has moved done bytes.
	begin, next, end, done int
	arrived                int // bytes that came in DATA packets
}

// become is the only writer of state.
func (t *Transfer) become(s State) {
	if !legal[t.state][s] {
		panic(fmt.Sprintf("bulk: illegal transition %v -> %v", t.state, s))
	}
	t.state = s
}

// Announce begins a send: the owner sends the RTS.
func (t *Transfer) Announce(size int) {
	t.become(Announced)
	t.size = size
}

// Accept begins a receive. This side reads [0, mine) itself, and asks the sender for the rest. A part of the message, 0 < mine < size, only if
// the sender can write the rest by RDMA: DATA packets bring all or nothing.
func (t *Transfer) Accept(size, mine int) Actions {
	t.become(Moving)
	t.size, t.end = size, mine
	act := Actions(0)
	if mine > 0 {
		t.mode = Read
		act |= Move
	}
	if t.peerDone = mine == size; !t.peerDone {
		act |= SendCTS
		t.finSent = mine == 0 // the sender knows from the CTS that there is no part of this side
	}
	return act | t.progress()
}

// Opened notes, before the CTS, that it offers memory which the sender can write to.
func (t *Transfer) Opened() { t.opened = true }

// Ask is a CTS: the sender is to move [from, size), by RDMA if the CTS offers memory. The caller has checked that the sender may use RDMA.
func (t *Transfer) Ask(size, from int, rdma bool) (Actions, error) {
	switch {
	case t.state == Ended:
		return 0, nil
	case t.state != Announced, size != t.size, from < 0, from >= size:
		return 0, t.broken("CTS for [%d, %d)", from, size)
	}
	t.become(Moving)
	t.begin, t.next, t.end = from, from, size
	t.peerDone = from == 0
	t.mode = Data
	if rdma {
		t.mode = Write
	}
	return Move, nil
}

// Arrive is a DATA packet. It reports whether the owner is to take its n bytes; false without an error: the transfer has ended.
func (t *Transfer) Arrive(off, n int) (take bool, err error) {
	switch {
	case t.state == Ended:
		return false, nil
	case t.state != Moving, t.mode != None, t.peerDone, off != t.arrived, n > t.size-t.arrived:
		return false, t.broken("DATA for [%d, %d)", off, off+n)
	}
	t.arrived += n
	return true, nil
}

// Finish is a FIN. moved is false if the receive was too short.
func (t *Transfer) Finish(moved bool) (Actions, error) {
	switch {
	case t.state == Ended:
		return 0, nil
	case t.state == Announced: // the receiver has read the whole message, or had no room for it
		t.become(Ended)
		return End, nil
	case t.state != Moving, t.peerDone, !moved, t.mode == None && !t.opened && t.arrived != t.size:
		return 0, t.broken("FIN (moved: %v)", moved)
	}
	t.peerDone = true
	return t.progress(), nil
}

// Rest is what of this side's part was not given to the NIC yet: the bytes [from, to).
func (t *Transfer) Rest() (from, to int) {
	if t.state != Moving {
		return 0, 0
	}
	return t.next, t.end
}

// Gave notes that the next n bytes of this side's part were given to the NIC.
func (t *Transfer) Gave(n int) { t.next += n }

// Moved notes that the NIC has moved n bytes, and does not use their memory any more.
func (t *Transfer) Moved(n int) Actions {
	t.done += n
	return t.progress()
}

// progress ends this side's part when all of it is moved, and the transfer when the peer's is, too.
func (t *Transfer) progress() (act Actions) {
	if t.state != Moving || t.done < t.end-t.begin {
		return 0
	}
	if !t.finSent {
		t.finSent = true
		act = SendFin
	}
	if t.peerDone {
		t.become(Ended)
		act |= End
	}
	return act
}

// Fail ends the transfer, for a reason that is the owner's. What comes for it later has no effect.
func (t *Transfer) Fail() {
	if t.state != Ended {
		t.become(Ended)
	}
}

// State returns the state.
func (t *Transfer) State() State { return t.state }

// Mode is how this side moves its part; valid in Moving.
func (t *Transfer) Mode() Mode { return t.mode }

// Size is the size of the message, in bytes.
func (t *Transfer) Size() int { return t.size }

// Mine is how many bytes the receiver reads itself.
func (t *Transfer) Mine() int { return t.end }

// Begin is where this side's part begins, in bytes.
func (t *Transfer) Begin() int { return t.begin }

// Arrived is how many bytes came in DATA packets: the offset of the next one.
func (t *Transfer) Arrived() int { return t.arrived }

func (t *Transfer) broken(format string, args ...any) error {
	return fmt.Errorf("%w: %s in %v", ErrProtocol, fmt.Sprintf(format, args...), t)
}

// String returns one line for logs.
func (t *Transfer) String() string {
	if t.state != Moving {
		return fmt.Sprintf("%v %d", t.state, t.size)
	}
	s := fmt.Sprintf("%v %d: %v", t.state, t.size, t.mode)
	switch {
	case t.mode != None:
		s += fmt.Sprintf(" [%d, %d), given %d, moved %d", t.begin, t.end, t.next-t.begin, t.done)
	case t.arrived > 0:
		s += fmt.Sprintf(", arrived %d", t.arrived)
	}
	if t.peerDone {
		s += ", peer done"
	}
	return s
}
