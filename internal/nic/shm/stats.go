package shm

import "github.com/viaduct-hpc/viaduct/bmi/about"

// Stats are a device's counters since it was opened. The tags describe them for tools (package
// bmi/about).
type Stats struct {
	Sent           uint64 `about:"messages sent"`
	Received       uint64 `about:"messages received"`
	RDMACalls      uint64 `about:"process_vm_readv and process_vm_writev calls"`
	RDMABytes      uint64 `about:"bytes that process_vm_readv and process_vm_writev moved"`
	FileBytes      uint64 `about:"bytes of files put into memory of the other side that is mapped here"`
	Dropped        uint64 `about:"messages of unreliable ports that had no receive"`
	DoorbellsRung  uint64 `about:"wake-ups sent to the other side"`
	DoorbellsHeard uint64 `about:"wake-ups received"`
	Looks          uint64 `about:"epoll calls from Poll"`
	Sleeps         uint64 `about:"epoll calls that blocked"`
	Cooled         uint64 `about:"ports that changed from polling to their doorbell"`
	TrimmedBytes   uint64 `about:"bytes of buffers given back by idle connections"`

	Connected      uint64 `about:"connections made"`
	PeersDied      uint64 `about:"connections that ended because the other side died"`
	ProtocolErrors uint64 `about:"connections that ended because the other side broke the rules"`
	Strangers      uint64 `about:"sockets refused for their user"`
	Malformed      uint64 `about:"sockets refused because their first message was not in our format"`
	WrongVersion   uint64 `about:"sockets refused for another version"`
	HalfOpen       uint64 `about:"sockets closed because they sent nothing in time, or were crowded out"`
	Probed         uint64 `about:"sockets that closed without sending anything"`
	OtherUsers     uint64 `about:"connections of users other than ours and root"`
	UserLimit      uint64 `about:"connections refused because their user had its share"`
	OutOfResources uint64 `about:"connections lost to a limit of this process or machine"`
	Looked         uint64 `about:"names checked when the device was opened, at most 8"`
	Swept          uint64 `about:"socket files of dead processes removed"`
	DeregisterBusy uint64 `about:"times memory could not be deregistered yet"`
	Hot            int    `about:"connections that are polled"`
	Conns          int    `about:"connections"`
}

// Stats returns the counters. Like all methods of a device it must be called by the owner.
func (d *Device) Stats() Stats {
	s := d.stats
	s.Sleeps = d.sleep.count.Load()
	s.Hot = len(d.hot)
	for i := range d.conns {
		if c := d.conns[i].conn; c != nil {
			s.Sent += c.sent
			s.Received += c.received
			s.Conns++
		}
	}
	return s
}

// OwnCounts implements nic.OwnCounter.
func (d *Device) OwnCounts() []about.Count { return about.Counts("nic", d.Stats()) }
