package perf

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"sync/atomic"
)

// limitFD is the follower's descriptor of the shared memory.
const limitFD = 3

// RunFollower runs the follower process, the other side of the limit tests: it
// executes commands from in until in ends. The shared memory is its descriptor 3.
func RunFollower(in io.Reader, out io.Writer) error {
	pair, err := mapSharedPair(os.NewFile(limitFD, "shared memory of the limit tests"))
	if err != nil {
		return err
	}
	f := &follower{pair: pair, out: out}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		if err := f.obey(lines.Text()); err != nil {
			return err
		}
	}
	for _, side := range []*socketSide{f.socket, f.datagrams} {
		if side != nil {
			side.close()
		}
	}
	return pair.close()
}

// A follower executes the leader's commands.
type follower struct {
	pair *sharedPair
	// socket, of TCP, and datagrams, of UDP, are nil until it is told to connect.
	socket, datagrams *socketSide
	out               io.Writer
	gone              atomic.Bool // never set: the kernel ends a follower whose leader dies
}

// obey executes one command. If a command takes long, it answers first.
func (f *follower) obey(line string) error {
	var core, port, steps, size int
	switch {
	case scan(line, "pin %d", &core):
		if _, err := PinThread(core); err != nil {
			return err
		}
		return f.ok()
	case scan(line, "follow %d %d", &steps, &size) && steps >= 0 && size >= 0 && size <= f.pair.size:
		if err := f.ok(); err != nil {
			return err
		}
		return f.pair.follow(steps, size, &f.gone)
	case scan(line, "connect %d", &port) && f.socket == nil:
		end, err := dialBare(port)
		if err != nil {
			return err
		}
		f.socket = &socketSide{bareEnd: end}
		return f.ok()
	case scan(line, "datagrams %d", &port) && f.datagrams == nil:
		return f.openDatagrams(port)
	case scan(line, "answer %d %d", &steps, &size) && f.socket != nil && steps >= 0 && size >= 0 && size <= SizeMax:
		return f.reflect(f.socket, steps, size)
	case scan(line, "reflect %d %d", &steps, &size) && f.datagrams != nil && steps >= 0 && size >= 0 && size <= SizeMax:
		return f.reflect(f.datagrams, steps, size)
	}
	return fmt.Errorf("perf: unknown command %q for the peer of the limit tests", line)
}

// openDatagrams connects to the leader's port, and tells the leader its own.
func (f *follower) openDatagrams(port int) error {
	end, err := openBareUDP(&f.gone)
	if err != nil {
		return err
	}
	if err := end.connect(port); err != nil {
		end.close()
		return err
	}
	f.datagrams = &socketSide{bareEnd: &end}
	_, err = fmt.Fprintln(f.out, "ok", end.port)
	return err
}

// reflect returns messages over one of the sockets.
func (f *follower) reflect(side *socketSide, steps, size int) error {
	side.grow(size)
	if err := f.ok(); err != nil {
		return err
	}
	return side.follow(steps, size)
}

// ok is the answer to every other command.
func (f *follower) ok() error {
	_, err := fmt.Fprintln(f.out, "ok")
	return err
}

// scan reports whether the line has the form.
func scan(line, form string, into ...any) bool {
	n, err := fmt.Sscanf(line, form, into...)
	return err == nil && n == len(into)
}
