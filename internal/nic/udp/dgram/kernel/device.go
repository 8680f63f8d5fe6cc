//go:build linux

package kernel

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/netpoll"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram"
)

// A Device owns sockets and the epoll instance that watches them.
type Device struct {
	options Options
	first   *socket
	probe   *socket // one of them, while there are probes
	watch   watch
	gate    netpoll.Gate // sleeping

	// Scratch memory of one call of one of the sockets.
	out   outgoing
	in    incoming
	zones zones
}

var (
	_ dgram.Device  = (*Device)(nil)
	_ dgram.Sleeper = (*Device)(nil)
	_ dgram.Homed   = (*socket)(nil)
)

// Open makes a device without sockets.
func Open(options Options) (*Device, error) {
	options, err := options.filled()
	if err != nil {
		return nil, err
	}
	epfd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, openError(fmt.Errorf("epoll: %w", err))
	}
	d := &Device{options: options, watch: watch{epfd: epfd}}
	if err := d.gate.Open(epfd); err != nil {
		_ = unix.Close(epfd)
		return nil, openError(err)
	}
	d.out.join()
	d.in.join()
	return d, nil
}

// Name implements dgram.Device.
func (d *Device) Name() string { return "kernel sockets" }

// Close implements dgram.Device.
func (d *Device) Close() error {
	if d.watch.epfd < 0 {
		return nil
	}
	d.gate.Close()
	for d.first != nil {
		_ = d.first.Close()
	}
	err := unix.Close(d.watch.epfd)
	d.watch.epfd = -1
	return err
}
