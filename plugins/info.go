package plugins

import (
	"errors"
	"fmt"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/plugins/host"
	"github.com/viaduct-hpc/viaduct/plugins/proto"
	"github.com/viaduct-hpc/viaduct/plugins/ring"
	"github.com/viaduct-hpc/viaduct/plugins/wire"
)

// errAnswer: what a plugin answered makes no sense.
var errAnswer = errors.New("plugins: wrong answer")

const piecesMax = 1 << 20

// An opened is what Open of a plugin said: its Info as bmi has it, and what its method can
// do besides.
type opened struct {
	info                          bmi.Info
	drops, checks, ranges, counts bool
}

// infoOf checks an Info, and cuts it to what can be had here.
func infoOf(n names, o *Options, in *proto.Info) (*opened, error) {
	if in == nil {
		return nil, fmt.Errorf("%w: plugin %s opened its method %s and does not say what it can do", errAnswer, o.Name, n.own)
	}
	clamp := func(v uint64, most int) int { return int(min(v, uint64(most))) }
	expected := clamp(in.GetMaxExpectedSize(), o.ArenaBytes/2) // see package host: half is for sends, half for receives
	out := &opened{
		info: bmi.Info{
			Name: n.registered, Description: printable(in.GetDescription()), Provider: printable(in.GetProvider()),
			MaxExpectedSize: expected, MaxUnexpectedSize: clamp(in.GetMaxUnexpectedSize(), ring.RecordMax(o.RingBytes)-wire.HeadBytes),
			EagerSize: clamp(in.GetEagerSize(), expected), MaxPieces: max(1, clamp(in.GetMaxPieces(), piecesMax)),
			Classes: in.GetClasses(), RegisteredMemory: true,
			RemoteRead: in.GetRemoteRead(), RemoteWrite: in.GetRemoteWrite(),
		},
		drops: in.GetDrops(), checks: in.GetChecks(), ranges: in.GetRanges(), counts: in.GetCounts(),
	}
	// A message that the arena has no place for, as one it is larger than a record, could
	// not be received.
	out.info.MaxUnexpectedSize = min(out.info.MaxUnexpectedSize, max(expected, host.InlineMax))
	if len(in.GetAddresses()) > addressesMax || len(in.GetDetails()) > detailsMax {
		return nil, fmt.Errorf("%w: plugin %s says %d addresses and %d details of its method %s", errAnswer, o.Name, len(in.GetAddresses()), len(in.GetDetails()), n.own)
	}
	for _, text := range in.GetAddresses() {
		address, err := n.address(text)
		if err != nil {
			return nil, err
		}
		out.info.Addresses = append(out.info.Addresses, address)
	}
	for _, d := range in.GetDetails() {
		out.info.Details = append(out.info.Details, [2]string{printable(d.GetName()), printable(d.GetValue())})
	}
	out.info.Details = append(out.info.Details, [2]string{"plugin", o.Name})
	return out, nil
}

// replaces tells whether a method can take the place of one that an endpoint has open:
// what the endpoint may do by the earlier Info must be possible still.
func (x *opened) replaces(before *opened) error {
	a, b := &x.info, &before.info
	if a.MaxExpectedSize < b.MaxExpectedSize || a.MaxUnexpectedSize < b.MaxUnexpectedSize || a.MaxPieces < b.MaxPieces || a.Classes != b.Classes {
		return fmt.Errorf("%w: method %s can do less than before the plugin was restarted, open another endpoint", errAnswer, a.Name)
	}
	return nil
}
