// Package service is what a program needs to serve, or to ask, over any method:
// how the method's addresses look, and under which class a request travels.
//
// Measuring is in internal/perf, the commands are in internal/cli.
package service

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// hostAndPort are the methods whose addresses are a host and a port; those of all
// others are a name.
var hostAndPort = map[string]bool{"tcp": true, "tcps": true, "via+udp": true}

// OverSockets tells whether a method moves bytes through sockets, so that what a
// bare socket does is its limit.
func OverSockets(method string) bool { return hostAndPort[method] }

// OverDatagrams tells whether those sockets are of UDP.
func OverDatagrams(method string) bool { return method == "via+udp" }

// MethodOf is the scheme of an address: the name of its method.
func MethodOf(address string) string {
	method, _, _ := strings.Cut(address, "://")
	return method
}

// AddressForm shows people how an address of the method looks.
func AddressForm(method string) string {
	if hostAndPort[method] {
		return method + "://HOST:PORT"
	}
	return method + "://NAME"
}

// LocalAddress is an address of this host to listen on that nobody else uses.
// With a method over sockets the kernel chooses the port: where the endpoint
// really listens, bmi.Endpoint.Addresses tells.
func LocalAddress(method, purpose string) string {
	if hostAndPort[method] {
		return method + "://127.0.0.1:0"
	}
	return fmt.Sprintf("%s://%s-%d-%x", method, purpose, os.Getpid(), time.Now().UnixNano()&0xffffff)
}

// Class is the class of unexpected messages under which a service is reached: its
// own, or 0 where the method of the address has no classes. The endpoint has
// looked the address up, or listens on it.
//
// A service must therefore take messages of both classes, and tell its own from
// others by their bytes.
func Class(ep *bmi.Endpoint, address string, own bmi.Class) bmi.Class {
	for _, i := range ep.Info() {
		if i.Name == MethodOf(address) && !i.Classes {
			return 0
		}
	}
	return own
}
