package coretest

import (
	"fmt"
	"strings"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
)

// A Verb is the kind of an Action.
type Verb uint8

// Verbs. Those from Wait on are about requests of earlier actions, by their ids; requests that have
// ended are left out.
const (
	Isend      Verb = iota // post a send
	Send                   // and wait for it
	Irecv                  // post a receive
	Recv                   // and wait for it
	Probe                  // wait for a message, then receive it
	Mprobe                 // wait for a message, take it, then receive it
	Iprobe                 // if there is a message, receive it
	Improbe                // if there is a message, take it and receive it
	Exchange               // send and receive at once; Other is the receive
	Wait                   // for IDs[0]
	WaitAll                // for all of IDs
	WaitAny                // for one of IDs, unless the first has ended
	WaitSome               // for some of IDs, unless the first has ended
	Test                   // IDs[0]
	TestSome               // of IDs
	CancelRecv             // IDs[0], and wait for its end
	CancelSend             // IDs[0]; its end is waited for at the end of the program
)

var verbNames = strings.Fields("Isend Send Irecv Recv Probe Mprobe Iprobe Improbe Exchange Wait WaitAll WaitAny WaitSome Test TestSome CancelRecv CancelSend")

func (v Verb) String() string { return verbNames[v] }

// An Action is one step of a rank.
type Action struct {
	Verb       Verb
	ID         int // of the send or receive, from 1; unique in the program
	Comm       int
	Peer, Tag  int       // a receive may have wildcards
	Size       int       // bytes of a send; buffer size of a receive
	Mode       core.Mode // of a send
	Persistent bool      // the request is made first and then started
	Stride     int       // > 0: one byte of the message every Stride bytes of memory
	Other      *Action   // of Exchange
	IDs        []int
}

func (a Action) String() string {
	switch {
	case a.Verb >= Wait:
		return fmt.Sprintf("%v %v", a.Verb, a.IDs)
	case a.Verb <= Send:
		return fmt.Sprintf("%v #%d comm=%d to=%d tag=%d size=%d mode=%d%s", a.Verb, a.ID, a.Comm, a.Peer, a.Tag, a.Size, a.Mode, a.manner())
	case a.Other != nil:
		return fmt.Sprintf("%v #%d comm=%d to=%d tag=%d size=%d and %v", a.Verb, a.ID, a.Comm, a.Peer, a.Tag, a.Size, *a.Other)
	}
	return fmt.Sprintf("%v #%d comm=%d from=%s tag=%s room=%d%s", a.Verb, a.ID, a.Comm, wild(a.Peer), wild(a.Tag), a.Size, a.manner())
}

func (a Action) manner() (s string) {
	if a.Persistent {
		s = " persistent"
	}
	if a.Stride > 0 {
		s += fmt.Sprintf(" stride=%d", a.Stride)
	}
	return s
}

func wild(n int) string {
	if n < 0 {
		return "any"
	}
	return fmt.Sprint(n)
}

// A Program is the actions of each rank.
type Program struct {
	Seed  uint64
	Comms []Discipline
	// RoomMax is at least the size of every message, in bytes.
	RoomMax int
	Ranks   [][]Action
}

func (p *Program) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d, communicators %v\n", p.Seed, p.Comms)
	for n, actions := range p.Ranks {
		fmt.Fprintf(&b, "rank %d:\n", n)
		for i, a := range actions {
			fmt.Fprintf(&b, "  %3d %v\n", i, a)
		}
	}
	return b.String()
}
