package vipl

import "fmt"

// State is the state of a VI.
//
//	                 ConnectStart, Accept
//	        ┌──────┐ ───────────────────► ┌────────────────┐
//	   ┌──► │ Idle │ ◄─────────────────── │ PendingConnect │
//	   │    └──────┘   refused, timed out └────────────────┘
//	   │     ▲    ▲                         │           │ connected
//	   │     │    │ flushed      Disconnect │           ▼
//	   │     │  ┌──────────────┐ ◄─────────┘     ┌───────────┐
//	   │     │  │ Disconnected │ ◄────────────── │ Connected │
//	   │     │  └──────────────┘    Disconnect   └───────────┘
//	   │     └───────────────────┐                     │ link lost, remote
//	   │ Disconnect              │                     │ side left
//	┌───────┐                    │                     │
//	│ Error │ ◄──────────────────┼─────────────────────┘
//	└───────┘                    └── every state but Connected and
//	                                 Disconnected: Destroy → Destroyed
type State uint8

const (
	// Idle: not connected; receives may be posted.
	Idle State = iota
	// PendingConnect: a connect or accept is under way; receives may be posted.
	PendingConnect
	// Connected: sends and receives may be posted.
	Connected
	// Disconnected: Disconnect was called, and the descriptors come back
	// flushed. After the last one the VI is Idle.
	Disconnected
	// Error: the connection ended on its own, and every descriptor came back.
	// Disconnect makes the VI Idle again.
	Error
	// Destroyed: Destroy was called.
	Destroyed
	stateCount
)

var stateNames = [stateCount]string{"Idle", "PendingConnect", "Connected", "Disconnected", "Error", "Destroyed"}

// String is the state's name.
func (s State) String() string {
	if s < stateCount {
		return stateNames[s]
	}
	return fmt.Sprintf("State(%d)", uint8(s))
}

// legal has the edges of the diagram above.
var legal = [stateCount][stateCount]bool{
	Idle:           {PendingConnect: true, Destroyed: true},
	PendingConnect: {Connected: true, Idle: true, Disconnected: true},
	Connected:      {Disconnected: true, Error: true},
	Disconnected:   {Idle: true},
	Error:          {Idle: true, Destroyed: true},
}

// become is the only writer of a VI's state. Wrong events of a provider or the remote
// side are filtered out earlier, so an illegal edge here is a bug of this package.
func (vi *VI) become(to State) {
	if !legal[vi.state][to] {
		panic(fmt.Sprintf("vipl: illegal transition of a VI: %v to %v", vi.state, to))
	}
	vi.state = to
}
