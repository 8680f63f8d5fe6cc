package vipl

import (
	"fmt"

	"github.com/viaduct-hpc/viaduct/bmi/netstats"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// ErrorCode says what kind of asynchronous error happened.
type ErrorCode uint8

const (
	// ErrorConnLost is VIP_ERROR_CONN_LOST: a connection ended on its own.
	ErrorConnLost ErrorCode = iota + 1
	// ErrorVI is an error of a VI that no descriptor can report. The
	// connection, if any, stays. The guide has a code for each such error
	// (VIP_ERROR_RECVQ_EMPTY, VIP_ERROR_RDMAW_PROT, ...); here Err says which.
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

// ErrorCallback makes Poll call fn for every asynchronous error. fn must not poll.
// Nil restores the default, which is to log them, except on a NIC with Events, where
// PollEvents reports them.
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

// SystemInfo has the counters of a NIC.
type SystemInfo struct {
	VIs             int    `about:"virtual interfaces that exist" name:"vis"`
	CQs             int    `about:"completion queues that exist" name:"cqs"`
	Regions         int    `about:"regions of memory that are registered"`
	Ptags           int    `about:"protection tags that exist"`
	RequestsWaiting int    `about:"connect requests that have not been taken yet"`
	Connections     uint64 `about:"connections made"`
	ConnectionsLost uint64 `about:"connections that ended on their own"`
	RequestsRefused uint64 `about:"connect requests rejected: malformed, or too many were waiting"`
	StrayEvents     uint64 `about:"events from the provider that its state does not allow"`
	CQFull          uint64 `about:"times progress stopped at a full completion queue"`
	AsyncErrors     uint64 `about:"errors reported to the error callback"`

	// Link and Packets are the device's own counters, of all its connections,
	// including past ones; 0 if it has none.
	Link    netstats.Link    `about:"-"`
	Packets netstats.Packets `about:"-"`
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
