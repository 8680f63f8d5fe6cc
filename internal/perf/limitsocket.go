package perf

import (
	"fmt"
	"strconv"
	"time"
)

// Socket measures the half round trip of size bytes over a bare TCP socket on
// loopback; both sides poll.
func (l *Limits) Socket(size int, budget time.Duration) (Result, error) {
	if err := checkBareSize(size); err != nil {
		return Result{}, err
	}
	if err := l.openSocket(); err != nil {
		return Result{}, err
	}
	return l.pingPong(LimitSocket, &socketDuel{l: l, side: l.socket, verb: "answer", size: size}, budget)
}

// UDP measures the half round trip of size bytes over two connected UDP sockets on
// loopback; both sides poll. A message that does not fit into one datagram is sent
// in several.
func (l *Limits) UDP(size int, budget time.Duration) (Result, error) {
	if err := checkBareSize(size); err != nil {
		return Result{}, err
	}
	if err := l.openDatagrams(); err != nil {
		return Result{}, err
	}
	return l.pingPong(LimitUDP, &socketDuel{l: l, side: l.datagrams, verb: "reflect", size: size}, budget)
}

func checkBareSize(size int) error {
	if size < 1 || size > SizeMax {
		return fmt.Errorf("perf: %s cannot be sent through a bare socket", FormatSize(size))
	}
	return nil
}

func (l *Limits) pingPong(test Test, d *socketDuel, budget time.Duration) (Result, error) {
	d.side.grow(d.size)
	s, err := measure(d, budget)
	if err != nil {
		return Result{}, err
	}
	return s.result(test, MethodBare, d.size, 1), nil
}

// openSocket connects the follower over TCP, once.
func (l *Limits) openSocket() error {
	if l.socket != nil {
		return nil
	}
	listener, port, err := listenBare()
	if err != nil {
		return err
	}
	defer listener.close()
	// Its answer says that it is connected, so accept does not wait long.
	if _, err := l.child.Ask("connect %d", port); err != nil {
		return err
	}
	end, err := listener.accept()
	if err != nil {
		return err
	}
	l.socket = &socketSide{bareEnd: end}
	return nil
}

// openDatagrams connects the follower over UDP, once. Each side tells the other its
// port.
func (l *Limits) openDatagrams() error {
	if l.datagrams != nil {
		return nil
	}
	end, err := openBareUDP(&l.child.Dead)
	if err != nil {
		return err
	}
	answer, err := l.child.Ask("datagrams %d", end.port)
	port := 0
	if err == nil {
		port, err = strconv.Atoi(answer)
	}
	if err == nil {
		err = end.connect(port)
	}
	if err != nil {
		end.close()
		return err
	}
	l.datagrams = &socketSide{bareEnd: &end}
	return nil
}

// socketDuel is a ping-pong over bare sockets; verb is the command that makes the
// follower answer.
type socketDuel struct {
	l    *Limits
	side *socketSide
	verb string
	size int
}

func (d *socketDuel) begin(steps int) error {
	_, err := d.l.child.Ask("%s %d %d", d.verb, steps, d.size)
	return err
}

func (d *socketDuel) step(n int) error { return d.side.lead(n, d.size) }

func (d *socketDuel) end() error { return nil }
