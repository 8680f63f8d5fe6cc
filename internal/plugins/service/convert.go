//go:build linux

package service

import (
	"strings"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/plugins/wire"
	"github.com/viaduct-hpc/viaduct/plugins/proto"
)

// valid returns a text that can be sent.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// failureOf returns an error in the form in which it is sent, or nil if there is none.
func failureOf(err error) *proto.Failure {
	if err == nil {
		return nil
	}
	text := err.Error()
	return &proto.Failure{Status: proto.Status(wire.StatusOf(err)), Text: valid(text[:min(len(text), wire.TextMax)])}
}

// infoOf returns the description of a method for the program.
func infoOf(in *bmi.Info, m bmi.Method) *proto.Info {
	size := func(n int) uint64 { return uint64(max(n, 0)) }
	out := &proto.Info{
		Name: valid(in.Name), Description: valid(in.Description), Provider: valid(in.Provider),
		MaxExpectedSize: size(in.MaxExpectedSize), MaxUnexpectedSize: size(in.MaxUnexpectedSize),
		EagerSize: size(in.EagerSize), MaxPieces: size(in.MaxPieces),
		Classes: in.Classes, RegisteredMemory: in.RegisteredMemory, RemoteRead: in.RemoteRead, RemoteWrite: in.RemoteWrite,
	}
	for _, a := range in.Addresses {
		out.Addresses = append(out.Addresses, valid(a))
	}
	for _, d := range in.Details {
		out.Details = append(out.Details, &proto.Detail{Name: valid(d[0]), Value: valid(d[1])})
	}
	_, out.Drops = m.(bmi.Dropper)
	_, out.Checks = m.(bmi.Checker)
	_, out.Ranges = m.(bmi.Ranger)
	_, out.Counts = m.(bmi.Statser)
	return out
}
