//go:build linux

package netns

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// A Host is one network namespace with one device besides its loopback device.
type Host struct {
	// Addr and Addr6 are the host's addresses; Addr6 is not valid if the kernel has no IPv6.
	Addr, Addr6 netip.Addr
	// Device is the name of the network device to the other hosts.
	Device string

	keeper *keeper // nil: the namespace of the test itself
	port   *Host   // the other end of the device's wire
	peer   string  // and the name of the device there
	busy   []*exec.Cmd
}

// Do runs fn on a thread of the host and returns its error. Sockets that fn opens belong to the
// host for good, and may be used from anywhere. Goroutines that fn starts are not on the host.
// One fn runs at a time; it must not end its goroutine, as a failing require does. A panic of fn
// continues in the caller.
func (h *Host) Do(fn func() error) error {
	if h.keeper == nil {
		return fn()
	}
	return h.keeper.do(fn)
}

// Path returns the name of the host's network namespace, for programs such as nsenter. It is valid as
// long as the host and this process exist.
func (h *Host) Path() string {
	if h.keeper == nil {
		return fmt.Sprintf("/proc/%d/ns/net", os.Getpid())
	}
	return fmt.Sprintf("/proc/%d/task/%d/ns/net", os.Getpid(), h.keeper.tid)
}

// ListenUDP opens a UDP socket on the host, which may be used from anywhere.
func (h *Host) ListenUDP(at netip.AddrPort) (c *net.UDPConn, err error) {
	err = h.Do(func() (err error) {
		c, err = net.ListenUDP("udp", net.UDPAddrFromAddrPort(at))
		return err
	})
	return c, err
}

// Start starts a process on the host. The caller must wait for it; a process that still runs when
// the test ends is killed.
func (h *Host) Start(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	if h.keeper != nil {
		// For this signal the parent is the host's thread, which ends with the test.
		cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	}
	return h.Do(func() error {
		err := cmd.Start()
		if err == nil {
			h.busy = append(h.busy, cmd)
		}
		return err
	})
}

// Run starts a process on the host, waits for its end and returns its output.
func (h *Host) Run(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	err := h.Do(cmd.Run)
	if err != nil {
		err = fmt.Errorf("netns: %s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(out.String()))
	}
	return out.String(), err
}

// ip runs the program ip once for several commands.
func (h *Host) ip(commands ...string) error {
	for _, c := range commands {
		if _, err := h.Run("ip", strings.Fields(c)...); err != nil {
			return err
		}
	}
	return nil
}

// SetUp sets the host's device up or down, at its own end.
func (h *Host) SetUp(up bool) error {
	state := "down"
	if up {
		state = "up"
	}
	return h.ip("link set " + h.Device + " " + state)
}

// SetMTU sets the largest IP packet, in bytes, of the host's own device.
func (h *Host) SetMTU(bytes int) error {
	return h.ip("link set " + h.Device + " mtu " + strconv.Itoa(bytes))
}

// SetPortMTU sets the MTU at the other end of the host's wire, for packets to the host. A router
// reports larger packets to their senders, a switch drops them.
func (h *Host) SetPortMTU(bytes int) error {
	return h.port.ip("link set " + h.peer + " mtu " + strconv.Itoa(bytes))
}

// close ends all processes on the host, and the host.
func (h *Host) close() {
	for _, cmd := range h.busy {
		// Fails only if the process has ended.
		_ = cmd.Process.Kill()
	}
	if h.keeper != nil {
		h.keeper.close()
		return
	}
	// Removing the other end of the wire would remove the device too, but only when the kernel
	// removes that end's namespace; until then the next host could not use the name. This fails
	// only if the device was never made.
	_ = h.ip("link del " + h.Device)
}
