package about

// A Class says how the values of a Count behave. The names are those of MPI-4.1, 15.3.7.
type Class uint8

// Classes.
const (
	Counter       Class = iota // grows by one for each event, or by bytes
	Level                      // how much there is now
	HighWatermark              // the highest level since a moment that the reader chooses
	Size                       // how much there is room for; fixed
	Timer                      // nanoseconds spent, which only grow
	State                      // one of Count.States, by its index
	Generic                    // anything else
)

// String returns the class's name in documents.
func (c Class) String() string {
	return [...]string{"counter", "level", "high watermark", "size", "timer", "state", "generic"}[c]
}

// A Count is something that a layer measures, and its value at one moment.
type Count struct {
	Name   string // layers and what is measured, with dots: "bmi.tcp.bytes_sent"
	Text   string
	Class  Class
	States []string `json:",omitempty"` // names of the values of a State
	// Nanoseconds: the values are times. Those of a Timer are.
	Nanoseconds bool `json:",omitempty"`
	// Values has one number, or one for each rank of a communicator. It is empty in a description.
	Values []uint64 `json:",omitempty"`
	// Watch starts to observe a HighWatermark from now on. It is nil in a description.
	Watch func() Watermark `json:"-"`
}

// A Watermark is the highest level since it was made, or since the last Reset.
type Watermark interface {
	Highest() uint64
	// Reset sets the highest level to the present one, and returns the previous highest level.
	Reset() uint64
	// Stop ends the observation.
	Stop()
}
