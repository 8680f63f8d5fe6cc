package term

import (
	"fmt"

	"github.com/viaduct-hpc/viaduct/internal/watch/view"
)

func processName(p *view.Process) string {
	if p.Error != "" || p.Program == "" {
		return p.Target
	}
	return fmt.Sprintf("%s %d on %s", p.Program, p.PID, p.Host)
}

func processColumns() []column[view.Process] {
	return []column[view.Process]{
		{title: "PROCESS", text: processName},
		{title: "STATE", text: func(p *view.Process) string {
			if p.Error != "" {
				return p.Error
			}
			return "answers"
		}, style: func(p *view.Process) style {
			if p.Error != "" {
				return red
			}
			return green
		}},
		{title: "RUNNING", number: true, text: func(p *view.Process) string { return seconds(p.Running) }},
		{title: "PEERS", number: true, text: func(p *view.Process) string { return count(p.Peers) }},
		{title: "UNEXPECTED", number: true, text: func(p *view.Process) string { return count(p.UnexpectedMessages) }},
		{title: "QUEUED", number: true, text: func(p *view.Process) string { return count(p.QueuedSends) }},
		{title: "SENT", number: true, text: func(p *view.Process) string { return byteRate(p.Rates.BytesSent) }},
		{title: "RECEIVED", number: true, text: func(p *view.Process) string { return byteRate(p.Rates.BytesReceived) }},
		{title: "RETRANS", number: true, text: func(p *view.Process) string { return count(p.Retransmissions) }},
		{title: "VERSION", text: func(p *view.Process) string { return p.Version }},
	}
}
