package plugins

import (
	"errors"
	"fmt"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/plugins/host"
	"github.com/viaduct-hpc/viaduct/internal/plugins/ring"
	"github.com/viaduct-hpc/viaduct/internal/plugins/wire"
	"github.com/viaduct-hpc/viaduct/plugins/proto"
)

// errAnswer: an answer of a plugin is invalid.
var errAnswer = errors.New("plugins: wrong answer")

const piecesMax = 1 << 20

// An opened is a plugin's answer to Open: its Info for bmi, and the optional features of its
// method.
type opened struct {
	info                          bmi.Info
	drops, checks, ranges, counts bool
}

// infoOf checks an Info, and reduces it to what this program supports.
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
	// A message that does not fit in the arena could not be received, unless it fits in a record.
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

// replaces returns an error unless a method can replace one that an endpoint has open: it must
// allow everything that the earlier Info allowed.
func (x *opened) replaces(before *opened) error {
	a, b := &x.info, &before.info
	if a.MaxExpectedSize < b.MaxExpectedSize || a.MaxUnexpectedSize < b.MaxUnexpectedSize || a.MaxPieces < b.MaxPieces || a.Classes != b.Classes {
		return fmt.Errorf("%w: method %s can do less than before the plugin was restarted, open another endpoint", errAnswer, a.Name)
	}
	return nil
}
