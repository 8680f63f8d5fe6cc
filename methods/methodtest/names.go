package methodtest

import (
	"sync"

	"github.com/viaduct-hpc/viaduct/internal/freeport"
)

// Named is a Subject.Address for methods whose addresses are names: scheme://name.
func Named(scheme string) func(name string) string {
	return func(name string) string { return scheme + "://" + name }
}

// UDPPorts is a Subject.Address for methods over datagrams. It gives each name a loopback
// address of scheme with a port that nothing else uses.
func UDPPorts(t T, scheme string) func(name string) string {
	var mu sync.Mutex // tests open endpoints from several goroutines
	ports := map[string]string{}
	return func(name string) string {
		mu.Lock()
		defer mu.Unlock()
		if ports[name] == "" {
			ports[name] = freeport.UDPAddress(t)
		}
		return scheme + "://" + ports[name]
	}
}
