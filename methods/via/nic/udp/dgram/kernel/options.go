//go:build linux

package kernel

import "fmt"

// Options say how sockets behave. Zero values mean the defaults.
type Options struct {
	// SendBuffer and RecvBuffer are how many bytes wait in a socket at most,
	// as the kernel counts them: a packet of 1500 bytes may count as 2304.
	// The kernel keeps them within net.core.wmem_max and rmem_max, except for
	// a process that may administer the network (CAP_NET_ADMIN). Defaults:
	// SendBufferDefault and RecvBufferDefault.
	SendBuffer, RecvBuffer int

	// NoGSO and NoGRO: packets are never sent, or received, several in one.
	NoGSO, NoGRO bool
}

// Defaults. A full window of 4096 segments of one peer fits into RecvBufferDefault.
// What waits in SendBufferDefault delays what comes after it, so it is not large:
// about 1 ms at 10 Gbit/s.
const (
	SendBufferDefault = 1 << 20
	RecvBufferDefault = 8 << 20
)

// bufferBytesMax: the kernel doubles what it is asked for and keeps it in 31 bits.
const bufferBytesMax = 1 << 29

// filled returns the options with defaults.
func (o Options) filled() (Options, error) {
	for _, b := range []struct {
		name      string
		bytes     *int
		byDefault int
	}{{"SendBuffer", &o.SendBuffer, SendBufferDefault}, {"RecvBuffer", &o.RecvBuffer, RecvBufferDefault}} {
		if *b.bytes == 0 {
			*b.bytes = b.byDefault
		}
		if *b.bytes < 0 || *b.bytes > bufferBytesMax {
			return o, fmt.Errorf("kernel: option %s is %d, must be from 0 to %d", b.name, *b.bytes, bufferBytesMax)
		}
	}
	return o, nil
}
