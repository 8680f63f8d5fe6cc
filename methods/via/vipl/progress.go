package vipl

import (
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// Poll makes progress without blocking: it takes events from the device, and puts
// completions on their queues and connection events where PollEvents finds them. It
// reports whether anything happened.
//
// On a NIC with Events, Poll does nothing while connection events wait for
// PollEvents. So completions and connection events stay in order.
func (n *NIC) Poll() bool {
	if n.closed {
		return false
	}
	if n.slow > 0 {
		n.attend()
	}
	did := n.pump()
	if n.slow > 0 {
		n.attend()
	}
	return did
}

func (n *NIC) pump() (did bool) {
	if len(n.events) > 0 {
		return false
	}
	if n.at == n.have {
		n.at, n.have = 0, n.dev.Poll(n.buf[:])
	}
	for n.at < n.have && len(n.events) == 0 && n.deliver(&n.buf[n.at]) {
		n.at++
		did = true
	}
	return did
}

// deliver routes one event. It reports false if the event must wait because its queue
// is full.
func (n *NIC) deliver(ev *nic.Event) bool {
	switch ev.Kind {
	case nic.EventRecv:
		vi := ev.Cookie.(*VI)
		if vi.recvCQ == nil {
			vi.recvDone.Push(ev.Desc)
		} else if !vi.recvCQ.push(Completion{VI: vi, Desc: ev.Desc, Queue: QueueRecv}) {
			n.info.CQFull++
			return false
		}
		vi.recvs--
		vi.peer.flushed = vi.peer.on
	case nic.EventSend:
		vi := ev.Cookie.(*VI)
		if vi.sendCQ == nil {
			vi.sendDone.Push(ev.Desc)
		} else if !vi.sendCQ.push(Completion{VI: vi, Desc: ev.Desc, Queue: QueueSend}) {
			n.info.CQFull++
			return false
		}
		vi.sends--
	default:
		n.connection(ev)
	}
	return true
}

// connection handles everything but completions.
func (n *NIC) connection(ev *nic.Event) {
	conn := ev.Conn
	if conn == nil {
		conn = &nic.ConnEvent{}
	}
	vi, _ := ev.Cookie.(*VI)
	switch ev.Kind {
	case nic.EventConnectRequest:
		n.requested(conn)
	case nic.EventConnected:
		if vi != nil {
			vi.connected(conn)
		}
	case nic.EventConnectFailed:
		if vi != nil {
			vi.connectFailed(wrapNIC(conn.Err))
		}
	case nic.EventDisconnected:
		if vi != nil {
			vi.disconnected(conn.Err)
		}
	case nic.EventError:
		n.asyncError(AsyncError{Code: errorCode(vi), VI: vi, Err: conn.Err})
	}
}

// Arm makes arrivals from now on end Sleep. If it reports false the caller must poll
// and not sleep: the device or the NIC has something ready, or the device is no
// nic.Sleeper. Arm, Sleep, Disarm and Wake are those of the device.
func (n *NIC) Arm() bool {
	if n.sleeper == nil || n.at < n.have || len(n.events) > 0 {
		return false
	}
	return n.sleeper.Arm()
}

// Disarm undoes Arm.
func (n *NIC) Disarm() {
	if n.sleeper != nil {
		n.sleeper.Disarm()
	}
}

// Sleep returns on an arrival, a Wake or when timeout (< 0: never) passes. It may
// be called beside the owner. A NIC that cannot sleep returns at once.
func (n *NIC) Sleep(timeout time.Duration) {
	if n.sleeper != nil {
		n.sleeper.Sleep(timeout)
	}
}

// Wake ends the current or the next Sleep. Any goroutine may call it.
func (n *NIC) Wake() {
	if n.sleeper != nil {
		n.sleeper.Wake()
	}
}

// NextDeadline tells when the NIC next wants a Poll even if nothing arrives.
func (n *NIC) NextDeadline() (at time.Duration, ok bool) {
	if n.closed {
		return 0, false
	}
	at, ok = n.dev.NextDeadline()
	for _, vi := range n.peering {
		if t := vi.peerDeadline(); !ok || t < at {
			at, ok = t, true
		}
	}
	return at, ok
}

// wait polls until done reports true. A timeout < 0 means no limit.
func (n *NIC) wait(timeout time.Duration, done func() bool) error {
	start := n.cfg.Clock()
	for {
		if done() {
			return nil
		}
		if n.closed {
			return errDestroyed
		}
		if len(n.events) > 0 {
			return errTakeFirst
		}
		if n.Poll() {
			continue
		}
		left := time.Duration(-1)
		if timeout >= 0 {
			if left = timeout - (n.cfg.Clock() - start); left <= 0 {
				return fmt.Errorf("%w after %v", ErrTimeout, timeout)
			}
		}
		n.idle(left)
	}
}

// idle yields the processor for up to left (< 0: no limit).
func (n *NIC) idle(left time.Duration) {
	switch {
	case n.cfg.Idle != nil:
		n.cfg.Idle(left)
	case n.sleeper == nil:
		runtime.Gosched()
	default:
		if at, ok := n.NextDeadline(); ok {
			if until := max(at-n.cfg.Clock(), 0); left < 0 || until < left {
				left = until
			}
		}
		if n.Arm() {
			n.sleeper.Sleep(left)
		}
		n.sleeper.Disarm()
	}
}

// A notifier is a queue with a handler.
type notifier interface{ notify() }

func (n *NIC) setNotifier(q notifier, on bool) {
	n.dropNotifier(q)
	if on {
		n.notices = append(n.notices, q)
		n.slow++
	}
}

func (n *NIC) dropNotifier(q notifier) {
	if i := slices.Index(n.notices, q); i >= 0 {
		n.notices = slices.Delete(n.notices, i, i+1)
		n.slow--
	}
}

// attend serves peer-to-peer connects and notify handlers, which are rare.
func (n *NIC) attend() {
	for _, vi := range slices.Clone(n.peering) {
		vi.peerTick()
	}
	for _, q := range slices.Clone(n.notices) {
		q.notify()
	}
}
