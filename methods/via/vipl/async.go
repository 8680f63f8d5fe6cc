package vipl

import (
	"fmt"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// ErrorCode says what kind of asynchronous error happened.
type ErrorCode uint8

const (
	// ErrorConnLost is VIP_ERROR_CONN_LOST: a connection ended on its own.
	ErrorConnLost ErrorCode = iota + 1
	// ErrorVI is an error of a VI that no descriptor could report; the
	// connection, if any, stays. The guide splits it (VIP_ERROR_RECVQ_EMPTY,
	// VIP_ERROR_RDMAW_PROT, ...); here Err says which.
	ErrorVI
	// ErrorNIC is VIP_ERROR_CATASTROPHIC: an error of the device itself.
	ErrorNIC
)

var errorCodeNames = map[ErrorCode]string{
	ErrorConnLost: "connection lost",
	ErrorVI:       "error of a VI",
	ErrorNIC:      "error of the NIC",
}

// String is the code in words.
func (c ErrorCode) String() string {
	if s, ok := errorCodeNames[c]; ok {
		return s
	}
	return fmt.Sprintf("ErrorCode(%d)", uint8(c))
}

// An AsyncError is an error that cannot be reported in a descriptor.
type AsyncError struct {
	Code ErrorCode
	VI   *VI // nil for an error of the NIC
	Err  error
}

func errorCode(vi *VI) ErrorCode {
	if vi == nil {
		return ErrorNIC
	}
	return ErrorVI
}

// ErrorCallback has fn called, from a Poll, for every asynchronous error. fn must
// not poll. Nil restores the default, which logs all but lost connections of a
// NIC with Events, where PollEvents reports them.
func (n *NIC) ErrorCallback(fn func(AsyncError)) { n.onError = fn }

func (n *NIC) asyncError(e AsyncError) {
	n.info.AsyncErrors++
	if n.onError != nil {
		n.onError(e)
	}
	if n.cfg.Events {
		if e.Code != ErrorConnLost {
			n.events = append(n.events, ConnEvent{Kind: EventError, VI: e.VI, Err: e.Err})
		}
		return
	}
	if n.onError == nil {
		remote := ""
		if e.VI != nil {
			remote = e.VI.remote.String()
		}
		n.cfg.Log.Warn("vipl: asynchronous error", "kind", e.Code.String(), "remote", remote, "error", e.Err)
	}
}

// SystemInfo counts what a NIC holds and has seen.
type SystemInfo struct {
	// VIs, CQs, Regions and Ptags exist now.
	VIs, CQs, Regions, Ptags int
	// RequestsWaiting are connect requests that nobody took yet.
	RequestsWaiting int
	// Connections were made, ConnectionsLost ended on their own.
	Connections, ConnectionsLost uint64
	// RequestsRefused were rejected by this package: not readable, or too
	// many waiting.
	RequestsRefused uint64
	// StrayEvents came from the provider in a state where they make no sense.
	StrayEvents uint64
	// CQFull counts the times when progress stopped at a full CQ.
	CQFull uint64
	// AsyncErrors were reported to the error callback.
	AsyncErrors uint64
	// Link is what the device counted of all its connections, past ones
	// included, and Packets what it counted of packets; 0 if it counts none.
	Link    nic.LinkStats
	Packets nic.PacketStats
}

// SystemInfo is the guide's VipQuerySystemManagementInfo.
func (n *NIC) SystemInfo() SystemInfo {
	info := n.info
	info.VIs, info.CQs = n.vis, n.cqs
	info.Regions, info.Ptags = len(n.memory), len(n.tags)
	info.RequestsWaiting = len(n.requests)
	info.Link, info.Packets = nic.LinkStatsOf(n.dev), nic.PacketStatsOf(n.dev)
	return info
}
