package term

import (
	"time"

	"github.com/viaduct-hpc/viaduct/internal/watch/view"
)

func stateStyle(state string) style {
	switch state {
	case "READY":
		return green
	case "WAIT":
		return yellow
	case "DISCONNECT":
		return red
	}
	return plain
}

// peerColumns have the process only if there are several.
func peerColumns(v *view.View) []column[view.Peer] {
	columns := []column[view.Peer]{
		{title: "PEER", sort: "address", text: func(p *view.Peer) string { return p.Address }},
		{title: "METHOD", sort: "method", text: func(p *view.Peer) string { return p.Method }},
		{title: "STATE", sort: "state", text: func(p *view.Peer) string { return p.State }, style: func(p *view.Peer) style { return stateStyle(p.State) }},
		{title: "CREDITS", sort: "credits", number: true, text: func(p *view.Peer) string { return count(p.Credits) }},
		{title: "WINDOW", sort: "window", number: true, text: func(p *view.Peer) string { return count(p.Window) }},
		{title: "QUEUED", sort: "queued", number: true, text: func(p *view.Peer) string { return count(p.QueuedSends) }},
		{title: "SENT", sort: "send-rate", number: true, text: func(p *view.Peer) string { return byteRate(p.Rates.BytesSent) }},
		{title: "RECEIVED", sort: "receive-rate", number: true, text: func(p *view.Peer) string { return byteRate(p.Rates.BytesReceived) }},
		{title: "MESSAGES", sort: "message-rate", number: true, text: func(p *view.Peer) string { return perSecond(p.Rates.MessagesSent + p.Rates.MessagesReceived) }},
		{title: "RETRANS", sort: "retransmissions", number: true, text: func(p *view.Peer) string { return count(p.Retransmissions) }},
		{title: "LOST", sort: "lost", number: true, text: func(p *view.Peer) string { return count(p.Lost) }},
		{title: "ROUND TRIP", sort: "round-trip", number: true, text: func(p *view.Peer) string { return seconds(time.Duration(p.RoundTrip).Seconds()) }},
		{title: "RAILS", sort: "rails", number: true, text: func(p *view.Peer) string { return count(len(p.Rails)) }},
	}
	if len(v.Processes) > 1 {
		columns = append(columns, column[view.Peer]{title: "OF", text: func(p *view.Peer) string { return processName(&v.Processes[p.Process]) }})
	}
	return columns
}
