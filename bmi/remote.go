package bmi

import (
	"fmt"
	"math"
)

// RemoteKeyBytes is the size of a RemoteKey.
const RemoteKeyBytes = 16

// A RemoteKey names memory that a peer has exposed. Its contents are the method's. It may be sent in a message.
type RemoteKey [RemoteKeyBytes]byte

// An ExposedMemory is memory that a peer may read and write without this endpoint's help.
type ExposedMemory struct {
	in *instance
	x  Exposure
}

// Key is what the peer needs for RemoteWrite and RemoteRead.
func (m *ExposedMemory) Key() RemoteKey {
	m.in.Lock()
	defer m.in.UnlockUnused()
	if m.x == nil || m.in.closing {
		return RemoteKey{}
	}
	return m.x.Key()
}

// Withdraw closes the memory. The peer begins no access after it has returned. One that it began before, which is an error of the
// programs, may still end; the endpoint keeps the memory reachable until then. A second call does nothing.
func (m *ExposedMemory) Withdraw() {
	m.in.Lock()
	defer m.in.unlock()
	if m.x != nil && !m.in.IsClosed() {
		m.x.Withdraw()
	}
	m.x = nil
}

// remote is the instance of an address whose method has remote access.
func (e *Endpoint) remote(a Addr) (*instance, RemoteAccessor, error) {
	in, err := e.check(a)
	if err != nil {
		return nil, nil, err
	}
	if in.remote == nil {
		return nil, nil, fmt.Errorf("%w: remote access by %s", ErrNotSupported, in.info.Name)
	}
	return in, in.remote, nil
}

// RemoteAccess reports whether the method of an address has remote access.
func (e *Endpoint) RemoteAccess(a Addr) bool {
	_, _, err := e.remote(a)
	return err == nil
}

// Expose opens memory to a peer, which may read and write it with its key as long as the connection lasts, until Withdraw. The
// connection must exist. ErrNotSupported means that this peer cannot access memory, ErrAgain that too much is exposed.
func (e *Endpoint) Expose(to Addr, mem []byte) (*ExposedMemory, error) {
	in, method, err := e.remote(to)
	if err != nil {
		return nil, err
	}
	if len(mem) == 0 {
		return nil, fmt.Errorf("%w: there is no memory to expose", ErrInvalid)
	}
	in.Lock()
	defer in.unlock()
	if err := in.mayAccess(to); err != nil {
		return nil, err
	}
	x, err := method.Expose(to.e.peer, mem)
	if err != nil {
		return nil, err
	}
	return &ExposedMemory{in: in, x: x}, nil
}

// mayAccess returns why memory of a peer cannot be accessed. The engine lock is held.
func (in *instance) mayAccess(a Addr) error {
	switch {
	case in.closing:
		return ErrClosed
	case a.e.dropped.Load():
		return in.ep.unusable(a)
	}
	return nil
}

// RemoteWrite writes to memory that a peer has exposed, from byte off of it on. The bytes are there when it returns nil. Any error
// means that the bytes must go another way; any part of them may have been written. ErrAgain means that other messages to the peer
// are under way, and that a later access may succeed.
func (e *Endpoint) RemoteWrite(to Addr, key RemoteKey, off uint64, from []byte) error {
	return e.access(to, key, off, from, true)
}

// RemoteRead reads from memory that a peer has exposed, in the same way.
func (e *Endpoint) RemoteRead(from Addr, key RemoteKey, off uint64, to []byte) error {
	return e.access(from, key, off, to, false)
}

func (e *Endpoint) access(a Addr, key RemoteKey, off uint64, mem []byte, write bool) error {
	in, method, err := e.remote(a)
	if err != nil {
		return err
	}
	if uint64(len(mem)) > math.MaxUint64-off {
		return fmt.Errorf("%w: %d bytes at offset %d", ErrInvalid, len(mem), off)
	}
	for most := method.AccessBytes(); len(mem) > 0; {
		n := min(most, len(mem))
		in.Lock() // once for each part, so that other callers need not wait long
		err := in.mayAccess(a)
		if err == nil {
			err = method.Access(a.e.peer, key, off, mem[:n], write)
		}
		in.UnlockUnused()
		if err != nil {
			return err
		}
		mem, off = mem[n:], off+uint64(n)
	}
	return nil
}
