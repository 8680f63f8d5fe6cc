package bmi

import (
	"fmt"
	"net/netip"
	"sync/atomic"
)

// Addr names a remote endpoint. It is small, comparable and valid until it is dropped or its endpoint closes. The zero Addr
// names no endpoint.
type Addr struct{ e *addrEntry }

// addrEntry is what the endpoint knows about a remote endpoint.
type addrEntry struct {
	in      *instance
	peer    Peer
	text    string
	dropped atomic.Bool // set under the engine lock
}

// IsZero reports whether a is the zero Addr.
func (a Addr) IsZero() bool { return a.e == nil }

// String returns the address as text, in a form that Lookup accepts if the remote endpoint can be connected to. It returns ""
// for the zero Addr.
func (a Addr) String() string {
	if a.e == nil {
		return ""
	}
	return a.e.text
}

// Lookup turns text, "method://name", into an Addr. The same text gives the same Addr until it is dropped. Lookup does not
// connect: if the address does not answer, the first operation fails. Lookup opens the method if it is not open yet.
//
// Several addresses of one endpoint may be given, separated by commas, as in PVFS. Lookup takes the first method that the
// program carries. That method may try its addresses in turn, as methods/tcp does.
func (e *Endpoint) Lookup(address string) (Addr, error) {
	e.addrMu.RLock()
	a, ok := e.addrs[address]
	e.addrMu.RUnlock()
	if ok && !a.e.dropped.Load() {
		return a, nil
	}
	scheme, own, err := choose(address)
	if err != nil {
		return Addr{}, err
	}
	in, err := e.method(scheme)
	if err != nil {
		return Addr{}, err
	}
	in.Lock()
	if in.closing {
		in.unlock()
		return Addr{}, ErrClosed
	}
	a, err = in.method.Resolve(own)
	in.unlock()
	if err != nil {
		return Addr{}, err
	}
	if a.e == nil || a.e.in != in {
		return Addr{}, fmt.Errorf("%w %q: method %s resolved it to nothing", ErrBadAddress, address, scheme)
	}
	e.addrMu.Lock()
	e.addrs[address] = a
	e.addrMu.Unlock()
	return a, nil
}

// check finds the method of an address, or says what is wrong with the address.
func (e *Endpoint) check(a Addr) (*instance, error) {
	if a.e == nil || a.e.in == nil || a.e.in.ep != e || a.e.dropped.Load() {
		return nil, e.unusable(a)
	}
	return a.e.in, nil
}

// unusable says why the endpoint cannot use an address.
func (e *Endpoint) unusable(a Addr) error {
	switch {
	case a.e == nil:
		return fmt.Errorf("%w: the zero Addr names nobody, use one from Lookup", ErrInvalid)
	case a.e.in == nil || a.e.in.ep != e:
		return fmt.Errorf("%w: %s was looked up in another endpoint", ErrInvalid, a)
	}
	return fmt.Errorf("%w: %s", ErrDropped, a)
}

// DropAddr forgets a remote endpoint: operations with it complete with
// ErrDropped and the connection closes. The Addr is of no use afterwards.
func (e *Endpoint) DropAddr(a Addr) error {
	in, err := e.check(a)
	if err != nil {
		return err
	}
	d, ok := in.method.(Dropper)
	if !ok {
		return fmt.Errorf("%w: %s keeps its peers until it closes", ErrNotSupported, in.info.Name)
	}
	in.Lock()
	defer in.unlock()
	if in.closing {
		return ErrClosed
	}
	if a.e.dropped.Swap(true) {
		return fmt.Errorf("%w: %s", ErrDropped, a)
	}
	e.forget(a)
	d.Drop(a.e.peer)
	if e.queue.roomAgain() {
		e.pollSoon()
	}
	return nil
}

// forget removes an address from the texts that Lookup knows, and the messages of its peer from the queue.
func (e *Endpoint) forget(a Addr) {
	e.addrMu.Lock()
	defer e.addrMu.Unlock()
	for text, known := range e.addrs {
		if known == a {
			delete(e.addrs, text)
		}
	}
	e.queue.discard(a)
}

// CheckAddr reports whether a remote endpoint is believed to be alive, without sending anything. It returns nil, or the error
// that a post would most likely end with.
func (e *Endpoint) CheckAddr(a Addr) error {
	in, err := e.check(a)
	if err != nil {
		return err
	}
	c, ok := in.method.(Checker)
	if !ok {
		return nil
	}
	in.Lock()
	defer in.unlock()
	if in.closing {
		return ErrClosed
	}
	return c.Check(a.e.peer)
}

// QueryAddrRange reports whether an address lies in a range, written in the wildcard syntax of its method.
func (e *Endpoint) QueryAddrRange(a Addr, pattern string) (bool, error) {
	in, err := e.check(a)
	if err != nil {
		return false, err
	}
	r, ok := in.method.(Ranger)
	if !ok {
		return false, fmt.Errorf("%w: %s has no address ranges", ErrNotSupported, in.info.Name)
	}
	in.Lock()
	defer in.unlock()
	if in.closing {
		return false, ErrClosed
	}
	return r.InRange(a.e.peer, pattern)
}

// SourceAddr is the network address from which a peer's packets come, if the peer connected to this endpoint and chose its own
// name. Otherwise it is not valid. A server that grants rights by address must use SourceAddr if it is valid, not the text of
// the Addr.
func (e *Endpoint) SourceAddr(a Addr) netip.AddrPort {
	in, err := e.check(a)
	if err != nil {
		return netip.AddrPort{}
	}
	s, ok := in.method.(Sourcer)
	if !ok {
		return netip.AddrPort{}
	}
	return s.Source(a.e.peer)
}

// AuthenticatedName is the name that a connected peer has proved to its method: with tcps the common name of its certificate,
// with via+udp the name of its static key. It is "" if the peer has proved none.
func (e *Endpoint) AuthenticatedName(a Addr) string {
	in, err := e.check(a)
	if err != nil {
		return ""
	}
	m, ok := in.method.(Authenticator)
	if !ok {
		return ""
	}
	in.Lock()
	defer in.unlock()
	if in.closing {
		return ""
	}
	return m.AuthenticatedName(a.e.peer)
}

// LocalUser is the user of this machine that runs a peer, as the kernel reported it when the peer last connected to this
// endpoint. It stays known after that connection has ended. It is nil if the peer did not connect to this endpoint, or if the
// method does not know the user.
func (e *Endpoint) LocalUser(a Addr) *User {
	if a.e == nil || a.e.in == nil || a.e.in.ep != e {
		return nil
	}
	if t, ok := a.e.in.method.(UserTeller); ok {
		return t.LocalUser(a.e.peer)
	}
	return nil
}

// MaxExpectedSize is the length in bytes of the largest expected message.
func (e *Endpoint) MaxExpectedSize(a Addr) (int, error) {
	in, err := e.check(a)
	if err != nil {
		return 0, err
	}
	return in.info.MaxExpectedSize, nil
}

// MaxUnexpectedSize is the length in bytes of the largest unexpected message.
func (e *Endpoint) MaxUnexpectedSize(a Addr) (int, error) {
	in, err := e.check(a)
	if err != nil {
		return 0, err
	}
	return in.info.MaxUnexpectedSize, nil
}

// Alloc returns memory that moves to and from a as cheaply as possible: registered memory if the method has it, otherwise plain
// memory.
func (e *Endpoint) Alloc(a Addr, size int) ([]byte, error) {
	return e.alloc(a, size, func(al Allocator) ([]byte, error) { return al.Alloc(size) })
}

// AllocShared is Alloc for memory that receives what peers send from files (Context.PostSendFile). If the method of a has such
// memory, the sender puts the bytes there with one copy. Where Alloc returns a different kind of memory, that kind is cheaper
// for messages sent from memory.
func (e *Endpoint) AllocShared(a Addr, size int) ([]byte, error) {
	return e.alloc(a, size, func(al Allocator) ([]byte, error) {
		if al, ok := al.(SharedAllocator); ok {
			return al.AllocShared(size)
		}
		return al.Alloc(size)
	})
}

func (e *Endpoint) alloc(a Addr, size int, alloc func(Allocator) ([]byte, error)) ([]byte, error) {
	in, err := e.check(a)
	if err != nil {
		return nil, err
	}
	if size < 0 {
		return nil, fmt.Errorf("%w: size %d", ErrInvalid, size)
	}
	al, ok := in.method.(Allocator)
	if !ok {
		return make([]byte, size), nil
	}
	in.Lock()
	defer in.unlock()
	if in.closing {
		return nil, ErrClosed
	}
	return alloc(al)
}

// Free gives back memory from Alloc or AllocShared with an address of the same method. No operation may use it any more.
func (e *Endpoint) Free(a Addr, mem []byte) error {
	if a.e == nil || a.e.in == nil || a.e.in.ep != e {
		_, err := e.check(a)
		return err
	}
	al, ok := a.e.in.method.(Allocator)
	if !ok {
		return nil
	}
	in := a.e.in
	in.Lock()
	defer in.unlock()
	if in.IsClosed() {
		return nil // the method freed everything when it closed
	}
	return al.Free(mem)
}
