package coll

import (
	"fmt"
	"math"
	"slices"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// Hosts says which host each rank of a communicator is on. It is immutable, and one
// serves all operations of the communicator: 4 bytes for each rank, and as many again
// if the ranks of some host are not consecutive.
//
// Hosts are numbered in the order of their lowest ranks. The first rank of a host in
// rank order is its leader.
type Hosts struct {
	of    []int32 // host of each rank
	begin []int32 // host h has the ranks at begin[h] to begin[h+1]-1 of members
	// members are all ranks, host by host, in rank order on each; nil if that is 0, 1,
	// 2, ...: then the ranks of every host are consecutive.
	members []int32
	leaders []int32 // the first rank of each host
	lasts   []int32 // the last rank of each host
	uniform bool    // every host has the same number of ranks
}

// NewHosts makes the map of a communicator whose rank r is on host of[r]. Any numbers
// may name the hosts.
func NewHosts[T comparable](of []T) (*Hosts, error) {
	if len(of) == 0 || len(of) > math.MaxInt32 {
		return nil, errclass.New(errclass.Arg, "a map of hosts for %d ranks: give 1 to %d", len(of), math.MaxInt32)
	}
	h := &Hosts{of: make([]int32, len(of))}
	numbers := make(map[T]int32)
	var sizes []int32
	consecutive := true
	for r, name := range of {
		host, known := numbers[name]
		if !known {
			host = int32(len(sizes))
			numbers[name] = host
			sizes = append(sizes, 0)
			h.leaders = append(h.leaders, int32(r))
			h.lasts = append(h.lasts, 0)
		}
		consecutive = consecutive && int(host) == len(sizes)-1
		h.of[r] = host
		h.lasts[host] = int32(r)
		sizes[host]++
	}
	h.uniform = slices.Max(sizes) == slices.Min(sizes)
	h.begin = make([]int32, len(sizes)+1)
	for host, size := range sizes {
		h.begin[host+1] = h.begin[host] + size
	}
	if consecutive {
		return h, nil
	}
	h.members = make([]int32, len(of))
	next := slices.Clone(h.begin)
	for r, host := range h.of {
		h.members[next[host]] = int32(r)
		next[host]++
	}
	return h, nil
}

// Size returns the number of hosts.
func (h *Hosts) Size() int { return len(h.leaders) }

// Where says how the ranks are spread. A nil Hosts is one host.
func (h *Hosts) Where() Where {
	switch {
	case h == nil || h.Size() == 1:
		return OneHost
	case h.Size() == len(h.of):
		return HostEach
	}
	return ManyHosts
}

// Of returns the host of each rank. It must not be changed.
func (h *Hosts) Of() []int32 { return h.of }

// String describes the map in a few words.
func (h *Hosts) String() string {
	order := "consecutive"
	if h.members != nil {
		order = "mixed"
	}
	return fmt.Sprintf("%d %s ranks on %d hosts", len(h.of), order, h.Size())
}

// aligned tells whether the ranks of a host differ only in the lowest bits of their
// numbers. Then recursive doubling is within a host first, and between hosts as often as
// it must be.
func (h *Hosts) aligned() bool {
	return h.members == nil && h.uniform && powerOfTwo(len(h.of)) && powerOfTwo(h.Size())
}

// member returns the i-th rank of all, host by host.
func (h *Hosts) member(i int) int {
	if h.members == nil {
		return i
	}
	return int(h.members[i])
}

// position returns where a rank is among the ranks of its host.
func (h *Hosts) position(rank int) int {
	from, to := h.begin[h.of[rank]], h.begin[h.of[rank]+1]
	if h.members == nil {
		return rank - int(from)
	}
	at, _ := slices.BinarySearch(h.members[from:to], int32(rank))
	return at
}

// blocks divides a buffer of one piece for each rank, host by host, into list: one
// block for each host.
func (h *Hosts) blocks(list [][]byte, buf []byte, piece int) [][]byte {
	list = list[:0]
	for host := range h.Size() {
		list = append(list, buf[int(h.begin[host])*piece:int(h.begin[host+1])*piece])
	}
	return list
}

// unpack moves pieces from the order host by host to rank order. If all ranks are
// consecutive there is nothing to do, and out and packed are the same memory.
func (h *Hosts) unpack(out, packed []byte, piece int) {
	for i, r := range h.members {
		copy(out[int(r)*piece:int(r+1)*piece], packed[i*piece:(i+1)*piece])
	}
}

// pack is unpack backwards.
func (h *Hosts) pack(packed, in []byte, piece int) {
	for i, r := range h.members {
		copy(packed[i*piece:(i+1)*piece], in[int(r)*piece:int(r+1)*piece])
	}
}
