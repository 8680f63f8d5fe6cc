package server

import "sync"

// Services are ports under names (MPI-4.1, 11.9.5). why is one word that says why something is refused.
type Services interface {
	Publish(service, port string) (why string)
	Unpublish(service string) (why string)
	Lookup(service string) (port string, ok bool)
}

// Names are services that the jobs of a launcher publish for each other (MPI-4.1, 11.9.5). The zero
// value is empty.
type Names struct {
	mu    sync.Mutex
	ports map[string]string // ≤ namesMax
}

// Publish implements Services.
func (n *Names) Publish(service, port string) (why string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, published := n.ports[service]
	switch {
	case service == "" || port == "" || len(service) >= valueBytesMax || len(port) >= valueBytesMax:
		return "bad_name_or_port"
	case published:
		return "already_published"
	case len(n.ports) >= namesMax:
		return "too_many_names"
	case n.ports == nil:
		n.ports = map[string]string{}
	}
	n.ports[service] = port
	return ""
}

// Unpublish implements Services.
func (n *Names) Unpublish(service string) (why string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, published := n.ports[service]; !published {
		return "no_such_service"
	}
	delete(n.ports, service)
	return ""
}

// Lookup implements Services.
func (n *Names) Lookup(service string) (port string, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	port, ok = n.ports[service]
	return port, ok
}
