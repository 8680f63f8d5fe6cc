package udp

import (
	"time"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// sleeping is a Device over datagrams that support sleeping.
type sleeping struct{ *Device }

var _ nic.Sleeper = sleeping{}

// Arm implements nic.Sleeper.
func (d sleeping) Arm() bool { return !d.closed && !d.pressing() && d.sleeper.Arm() }

// Disarm implements nic.Sleeper.
func (d sleeping) Disarm() { d.sleeper.Disarm() }

// Sleep implements nic.Sleeper.
func (d sleeping) Sleep(timeout time.Duration) { d.sleeper.Sleep(timeout) }

// Wake implements nic.Sleeper.
func (d sleeping) Wake() { d.sleeper.Wake() }
