//go:build linux

package kernel

import "fmt"

// Options configure sockets. Zero values mean the defaults.
type Options struct {
	// SendBuffer and RecvBuffer are the sizes of a socket's buffers in bytes, as
	// the kernel counts them: a packet of 1500 bytes may count as 2304. The kernel
	// limits them to net.core.wmem_max and rmem_max, except for a process that may
	// administer the network (CAP_NET_ADMIN). Defaults: SendBufferDefault and
	// RecvBufferDefault.
	SendBuffer, RecvBuffer int

	// NoGSO and NoGRO: packets are never sent, or received, several in one call.
	NoGSO, NoGRO bool
}

// Defaults. A full window of 4096 segments of one peer fits into RecvBufferDefault.
// Packets in the send buffer delay later ones, so SendBufferDefault is not large:
// about 1 ms at 10 Gbit/s.
const (
	SendBufferDefault = 1 << 20
	RecvBufferDefault = 8 << 20
)

// bufferBytesMax: the kernel doubles the requested size and stores it in 31 bits.
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
