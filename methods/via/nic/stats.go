package nic

import (
	"github.com/viaduct-hpc/viaduct/bmi/about"
	"github.com/viaduct-hpc/viaduct/bmi/netstats"
)

// A LinkCounter is a Device or a Port that counts. A port counts its one
// connection, and keeps the counts after the connection has ended. A device counts
// all present and past connections, including packets after their ports were
// closed.
type LinkCounter interface {
	LinkStats() netstats.Link
}

// A PacketCounter is a Device that counts packets.
type PacketCounter interface {
	PacketStats() netstats.Packets
}

// LinkStatsOf returns the counts of a Device or a Port; zeros if it does not count.
func LinkStatsOf(deviceOrPort any) netstats.Link {
	if c, ok := deviceOrPort.(LinkCounter); ok {
		return c.LinkStats()
	}
	return netstats.Link{}
}

// PacketStatsOf returns the counts of a Device; zeros if it does not count.
func PacketStatsOf(d Device) netstats.Packets {
	if c, ok := d.(PacketCounter); ok {
		return c.PacketStats()
	}
	return netstats.Packets{}
}

// A Windowed is a Port that limits what is under way, because its network can lose it.
type Windowed interface {
	// Window returns how many bytes may be under way at once, and how many are.
	Window() (most, used int)
}

// WindowOf returns the window of a Port; zeros if it has none.
func WindowOf(port any) (most, used int) {
	if w, ok := port.(Windowed); ok {
		return w.Window()
	}
	return 0, 0
}

// An OwnCounter is a Device with counters that other devices do not have.
type OwnCounter interface {
	// OwnCounts returns them. Their names begin with "nic.".
	OwnCounts() []about.Count
}

// A Describer is a Provider that describes what the environment, or the provider itself, sets for its
// devices.
type Describer interface {
	Provider
	// Settings returns that. Names begin with "nic.".
	Settings() []about.Setting
}

// OwnCountsOf returns the own counters of a Device, if it has any.
func OwnCountsOf(d Device) []about.Count {
	if c, ok := d.(OwnCounter); ok {
		return c.OwnCounts()
	}
	return nil
}
