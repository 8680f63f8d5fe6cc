package shm

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// childGuest connects to a server of another user, checks what the server reveals, and gets messages of all sizes returned.
func childGuest(dir string) error {
	dev, err := Provider{Dir: dir}.Open(nic.Config{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	p, err := dev.OpenPort(reliable(), nil)
	if err != nil {
		return err
	}
	port := p.(*Port)
	for range 4 {
		if err := port.PostRecv(recvLoan()); err != nil {
			return err
		}
	}
	if err := port.Connect("server", []byte("private"), 0); err != nil {
		return err
	}
	end := inputEnd()
	next := func(kind nic.EventKind) (nic.Event, error) { return nextOf(dev.(*Device), kind, end) }
	if _, err := next(nic.EventConnected); err != nil {
		return err
	}
	first, err := next(nic.EventRecv) // where the server has memory
	if err != nil {
		return err
	}
	var remote nic.Remote
	if _, err := fmt.Sscan(string(first.Desc.Data), &remote.Addr, &remote.Handle); err != nil {
		return err
	}
	if err := port.PostRecv(first.Desc); err != nil {
		return err
	}
	fmt.Println("ready")
	fmt.Println(port.AuthenticatedName(), port.RDMAUsable())
	rdma := rdmaDesc(nic.OpRDMARead, remote, make([]byte, 8))
	if done, err := port.PostSend(rdma); err != nil || !done {
		return fmt.Errorf("RDMA: %v, %w", done, err)
	}
	fmt.Println(rdma.Status == nic.StatusRDMAError, port.conn.theirTable == nil)
	for _, size := range []int{0, 8, InlineBytesMax, InlineBytesMax + 1, MTUBytes} {
		if _, err := port.PostSend(send(pattern(size, 1))); err != nil {
			return err
		}
		e, err := next(nic.EventRecv)
		if err != nil {
			return err
		}
		if string(e.Desc.Data) != string(pattern(size, 1)) {
			return fmt.Errorf("%d bytes came back as %d others", size, len(e.Desc.Data))
		}
		if err := port.PostRecv(e.Desc); err != nil {
			return err
		}
	}
	fmt.Println("echoed")
	<-end
	return dev.Close()
}

// nextOf waits for an event, asleep when there is none.
func nextOf(d *Device, kind nic.EventKind, end <-chan struct{}) (nic.Event, error) {
	var out [1]nic.Event
	for idle := 0; !over(end); {
		if n := d.Poll(out[:]); n > 0 {
			switch {
			case out[0].Kind == kind:
				return out[0], nil
			case out[0].Kind == nic.EventConnectFailed, out[0].Kind == nic.EventDisconnected:
				return out[0], fmt.Errorf("connection: %w", out[0].Conn.Err)
			}
			idle = 0
			continue
		}
		if idle++; idle > 200 && d.Arm() {
			d.Sleep(time.Second)
			d.Disarm()
		}
	}
	return nic.Event{}, errors.New("no event until the end of the input")
}

// childVandal tries everything that another user might do to the names of a server, and prints what succeeded.
func childVandal(string) error {
	folder := filepath.Join(os.Getenv(OpenDirEnv), "0")
	name, mine := filepath.Join(folder, "server"), filepath.Join(folder, "mine")
	bind := func(path string) error {
		fd, err := newSocket()
		if err != nil {
			return nil // but that is not a refusal
		}
		defer closeFD(fd)
		return unix.Bind(fd, &unix.SockaddrUnix{Name: path})
	}
	for what, err := range map[string]error{
		"unlink":           os.Remove(name),
		"rename":           os.Rename(name, mine),
		"bind another":     bind(mine),
		"bind the same":    bind(name),
		"link over":        os.Symlink("/dev/null", mine),
		"hard link":        os.Link(name, filepath.Join(os.Getenv(childDir), "link")),
		"chmod":            os.Chmod(name, 0o600),
		"chmod the folder": os.Chmod(folder, 0o777),
		"move the folder":  os.Rename(folder, folder+"-away"),
		"make a folder":    os.Mkdir(filepath.Join(os.Getenv(OpenDirEnv), "1"), 0o755),
		"open the lock":    opens(filepath.Join(folder, lockName)),
	} {
		if err == nil {
			fmt.Fprintln(os.Stderr, what, "worked")
			return fmt.Errorf("%s worked", what)
		}
	}
	// A lock that this process takes on the folder must not stop others.
	fd, err := unix.Open(folder, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err == nil {
		err = unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
	}
	if err != nil {
		return err
	}
	fmt.Println("ready")
	<-inputEnd()
	return unix.Close(fd)
}

func opens(path string) error {
	f, err := os.OpenFile(path, os.O_RDONLY, 0)
	if err == nil {
		_ = f.Close()
	}
	return err
}

// childGreedy connects as often as it can, and keeps all connections. It prints their number.
func childGreedy(dir string) error {
	dev, err := Provider{Dir: dir}.Open(nic.Config{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	end := inputEnd()
	made := 0
	for ; ; made++ {
		p, err := dev.OpenPort(reliable(), nil)
		if err != nil {
			return err
		}
		if err := p.PostRecv(recvLoan()); err != nil {
			return err
		}
		if err := p.Connect("server", []byte("private"), 0); err != nil {
			return err
		}
		e, err := nextOf(dev.(*Device), nic.EventConnected, end)
		if err != nil {
			fmt.Println("ready")
			fmt.Println(made, errors.Is(e.Conn.Err, nic.ErrUnreachable))
			break
		}
	}
	<-end
	return dev.Close()
}

// childSilent fills the server with silent sockets, and replaces those that the server drops.
func childSilent(string) error {
	end := inputEnd()
	var fds []int
	for first := true; !over(end); {
		fd, err := newSocket()
		if err != nil {
			return err
		}
		if unix.Connect(fd, &unix.SockaddrUnix{Name: filepath.Join(os.Getenv(OpenDirEnv), "0", "server")}) != nil {
			closeFD(fd)
			runtime.Gosched()
		} else {
			fds = append(fds, fd)
		}
		if len(fds) == 2*greetingsMax {
			for _, fd := range fds {
				closeFD(fd)
			}
			fds = fds[:0]
			if first {
				fmt.Println("ready")
				first = false
			}
		}
	}
	return nil
}

// childOpen serves all users. It may run as any user.
func childOpen(dir string) error { return echo(Provider{Dir: dir, Users: nic.Users{Others: true}}) }
