package perf

import "runtime"

// A bareEnd is one end of a pair of bare sockets: a bareSocket or a bareUDP.
type bareEnd interface {
	// send returns when the kernel has all of b, and recv when all of b has arrived.
	send(b []byte) error
	recv(b []byte) error
	close()
}

// A socketSide is an end with its two buffers, which are private to the process, as
// in any program.
type socketSide struct {
	bareEnd
	out, in []byte
}

// grow makes the buffers hold size bytes, all of them written once.
func (s *socketSide) grow(size int) {
	if size <= len(s.in) {
		return
	}
	s.out, s.in = make([]byte, size), make([]byte, size)
	for i := range s.out {
		s.out[i], s.in[i] = byte(i), byte(i)
	}
	runtime.GC() // now, since the collector is off while the clock runs
}

// lead makes n round trips of size bytes, as the side that starts.
func (s *socketSide) lead(n, size int) error {
	for range n {
		if err := s.send(s.out[:size]); err != nil {
			return err
		}
		if err := s.recv(s.in[:size]); err != nil {
			return err
		}
	}
	return nil
}

// follow answers n round trips.
func (s *socketSide) follow(n, size int) error {
	for range n {
		if err := s.recv(s.in[:size]); err != nil {
			return err
		}
		if err := s.send(s.out[:size]); err != nil {
			return err
		}
	}
	return nil
}
