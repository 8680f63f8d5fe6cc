package bmi

// A Guard is the lock of one method of an endpoint, the engine lock, for a caller that lets it
// guard state of its own as well. So the caller's quick handler needs no lock for messages of that
// method, and the caller needs only one to change its state and send a message.
//
// The holder must not wait for anything but in Guard.TestUntil. It may call no other method of the
// endpoint, except Guard.SendUnexpectedNow and Context.Notify.
type Guard struct{ in *instance }

// Guard returns the Guard of the endpoint's first method, or a lock that guards nothing of bmi if
// no method is open yet.
func (e *Endpoint) Guard() Guard {
	if all := e.methods(); len(all) > 0 {
		return Guard{all[0]}
	}
	return Guard{new(instance)}
}

// Lock takes the lock.
func (g Guard) Lock() { g.in.Lock() }

// LockUnless takes the lock unless *not is true, which the lock guards. It reports whether it did.
func (g Guard) LockUnless(not *bool) bool {
	in := g.in
	if !in.TryLock() {
		in.Lock()
	}
	if *not {
		in.UnlockUnused()
		return false
	}
	return true
}

// TryLock takes the lock if it is free. Unlike Lock, it may be called while the lock of another
// method is held, so by a quick handler.
func (g Guard) TryLock() bool { return g.in.TryLock() }

// Unlock releases the lock.
func (g Guard) Unlock() { g.in.unlock() }

// UnlockUnsent is Unlock for a holder that has sent nothing. It costs less while a goroutine sleeps.
func (g Guard) UnlockUnsent() { g.in.UnlockUnused() }

// TestUntil is Context.TestUntil, without a limit of time, for the holder of the lock, which it
// releases. If the endpoint has no other method, the wait begins within the hold.
func (g Guard) TestUntil(c *Context, done func() bool, out []Completion) (int, error) {
	e := c.ep
	if all := e.methods(); len(all) != 1 || all[0] != g.in || e.cfg.Manual || len(out) == 0 {
		g.Unlock()
		return c.TestUntil(done, out, Forever)
	}
	r := request{kind: waitContext, ctx: c, out: out, until: done}
	r.met, _ = g.in.serveLocked(&r, e.monitor.FirstPolls())
	g.in.unlock()
	if !r.met {
		e.await(&r, &c.waits, Forever, nil)
	}
	return e.answer(&r)
}

// Guards reports whether the method of an address is that of the Guard.
func (g Guard) Guards(a Addr) bool { return a.e != nil && a.e.in == g.in }

// SendUnexpectedNow is Context.SendUnexpectedNow for the holder of the lock. It sends only to
// addresses of the Guard's method.
func (g Guard) SendUnexpectedNow(c *Context, to Addr, class Class, tag Tag, head, body []byte) bool {
	return g.Guards(to) && g.in.takesNow(c, class, len(head)+len(body)) &&
		g.in.sendNowLocked(c, to, KindSendUnexpected, class, tag, head, body)
}
