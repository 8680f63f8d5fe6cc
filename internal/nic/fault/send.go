package fault

import (
	"fmt"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// PostSend may be refused, fail, lose the message or find the connection broken.
func (p *port) PostSend(d *nic.Descriptor) (done bool, err error) {
	switch p.dev.at(OnPostSend, p.unreliable) {
	case Again:
		return false, p.dev.turnAway()
	case Fail:
		return false, fmt.Errorf("fault: post send: %w", ErrInjected)
	case Drop:
		if p.connected && d.Op == nic.OpSend {
			d.Status, d.Length = nic.StatusSuccess, d.Size()
			return true, nil
		}
	case Break:
		p.breakUp()
	}
	done, err = p.inner.PostSend(d)
	if done && d.Status == nic.StatusSuccess {
		if kind := p.dev.at(OnSendEvent, p.unreliable); kind == Fail {
			d.Status, d.Length = nic.StatusTransportError, 0
			p.breakUp()
		} else if kind == Break {
			p.breakUp()
		}
	}
	return done, err
}
