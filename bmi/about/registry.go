package about

import "sync"

// A Binding is the kind of object that variables belong to (MPI-4.1, 15.3.2).
type Binding uint8

// Bindings.
const (
	Process      Binding = iota // no object: the variables belong to the process
	Communicator                // an *mpi.Comm
	Window                      // an *rma.Win
)

// String returns the binding's name in documents.
func (b Binding) String() string { return [...]string{"process", "communicator", "window"}[b] }

// A Source describes the counters, settings and events that a package has for objects of one kind.
// Its functions return nil for objects of other kinds. Functions of a Communicator or Window Source
// return descriptions for nil. A function may be nil.
type Source struct {
	Binding  Binding
	Counts   func(object any) []Count
	Settings func(object any) []Setting
	Events   *EventSource // nil: none
}

var registry struct {
	sync.Mutex
	all []Source
}

// Register offers a source. Packages call it when they are linked.
func Register(s Source) {
	registry.Lock()
	defer registry.Unlock()
	registry.all = append(registry.all, s)
}

// Sources returns the registered sources.
func Sources() []Source {
	registry.Lock()
	defer registry.Unlock()
	return registry.all[:len(registry.all):len(registry.all)]
}
