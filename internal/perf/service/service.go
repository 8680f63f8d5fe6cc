// Package service is for programs that serve or call a service over any method:
// it knows the form of the method's addresses, and the class of a request.
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

// hostAndPort are the methods whose addresses are a host and a port; addresses of
// all others are a name.
var hostAndPort = map[string]bool{"tcp": true, "tcps": true, "via+udp": true}

// OverSockets reports whether a method moves bytes through sockets, so that a
// bare socket is its limit.
func OverSockets(method string) bool { return hostAndPort[method] }

// OverDatagrams reports whether those sockets are UDP sockets.
func OverDatagrams(method string) bool { return method == "via+udp" }

// MethodOf is the scheme of an address: the name of its method.
func MethodOf(address string) string {
	method, _, _ := strings.Cut(address, "://")
	return method
}

// AddressForm is the form of the method's addresses, for people.
func AddressForm(method string) string {
	if hostAndPort[method] {
		return method + "://HOST:PORT"
	}
	return method + "://NAME"
}

// LocalAddress is an unused address of this host to listen on. With a method over
// sockets the kernel chooses the port; bmi.Endpoint.Addresses then returns the
// real address.
func LocalAddress(method, purpose string) string {
	if hostAndPort[method] {
		return method + "://127.0.0.1:0"
	}
	return fmt.Sprintf("%s://%s-%d-%x", method, purpose, os.Getpid(), time.Now().UnixNano()&0xffffff)
}

// Class is the class of unexpected messages to a service: its own, or 0 if the
// method of the address has no classes. The endpoint must have looked up the
// address, or listen on it.
//
// A service must therefore take messages of both classes, and recognise its own
// messages by their bytes.
func Class(ep *bmi.Endpoint, address string, own bmi.Class) bmi.Class {
	for _, i := range ep.Info() {
		if i.Name == MethodOf(address) && !i.Classes {
			return 0
		}
	}
	return own
}
