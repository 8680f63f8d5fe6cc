package udp

import "fmt"

// HotPolls and DataEvery tell how often a device reads its data lane.
const HotPolls, DataEvery = hotPolls, dataEvery

// LeftBehind lists what a device still keeps for connections; it is empty if there
// is no connection in any state, and no port, request, timer, packet, event or lent
// buffer.
func (d *Device) LeftBehind() string {
	waiting := d.outs[0].n + d.outs[1].n
	_, timer := d.wheel.Next()
	if len(d.conns)+len(d.theirs)+len(d.ports)+len(d.requests)+len(d.events)+waiting+d.lent+d.roomsLent == 0 && d.ready.Empty() && !timer {
		return ""
	}
	return fmt.Sprintf("%d connections (%d joined), %d ports, %d requests, %d events, %d packets, %d buffers lent, something to send %v, a timer %v",
		len(d.conns), len(d.theirs), len(d.ports), len(d.requests), len(d.events), waiting, d.lent, !d.ready.Empty(), timer)
}
