package mpi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/environ"
)

// Environment variables that say where via+shm keeps its names. Processes with different values do
// not find each other through it.
var shmDirEnvs = [...]string{"VIADUCT_SHM_DIR", "XDG_RUNTIME_DIR"}

// hostID returns a text that is equal in processes that can share memory: those that run on one
// booted machine, see the same files and the same processes, and belong to one user.
func hostID() string {
	name, err := os.Hostname()
	if err != nil {
		name = "unknown"
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%d\n", name, os.Getuid())
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // if it is missing, the rest must do
	h.Write(boot)
	for _, space := range []string{"mnt", "pid"} {
		link, _ := os.Readlink("/proc/self/ns/" + space)
		fmt.Fprintln(h, link)
	}
	for _, env := range shmDirEnvs {
		fmt.Fprintln(h, environ.Getenv(env))
	}
	return name + "/" + hex.EncodeToString(h.Sum(nil)[:8])
}

// loopback is the address at which processes of one host reach each other.
const loopback = "127.0.0.1"

// listenHost returns the address at which other processes reach this machine.
func listenHost(ctx context.Context, oneHost bool) (string, error) {
	if oneHost {
		return loopback, nil
	}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return "", fmt.Errorf("looking for an address of this machine: %w", err)
	}
	ours := outward(addrs)
	if len(ours) == 0 {
		return loopback, nil
	}
	for _, ip := range named(ctx) {
		if slices.Contains(ours, ip) {
			return ip.String(), nil
		}
	}
	return ours[0].String(), nil
}

// outward returns the addresses that other hosts may reach, IPv4 first.
func outward(addrs []net.Addr) []netip.Addr {
	var four, six []netip.Addr
	for _, a := range addrs {
		prefix, err := netip.ParsePrefix(a.String())
		if err != nil {
			continue
		}
		switch ip := prefix.Addr().Unmap(); {
		case ip.IsLoopback() || !ip.IsGlobalUnicast():
		case ip.Is4():
			four = append(four, ip)
		default:
			six = append(six, ip)
		}
	}
	return append(four, six...)
}

// nameTimeMax limits how long a name service may take to look up this machine's name.
const nameTimeMax = 2 * time.Second

// named returns the addresses of this machine's name. If there are several interfaces, the
// administrator gave the name to the one that other hosts are to use.
func named(ctx context.Context) []netip.Addr {
	name, err := os.Hostname()
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, nameTimeMax)
	defer cancel()
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", name)
	if err != nil {
		return nil
	}
	for i := range ips {
		ips[i] = ips[i].Unmap()
	}
	return ips
}
