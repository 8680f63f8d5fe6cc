package secure

import (
	"fmt"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
)

// A RefusedError says why an INIT did not lead to a connection. The refusing side
// gets it from Respond, the asking side from Input.
type RefusedError struct {
	Code    wire.Code
	Version uint16    // of the other side
	Mode    wire.Mode // of this side
	Theirs  wire.Mode // of the other side; 0 if the code does not show it
	// Here: this side refused; otherwise the other side did.
	Here bool
	// Key is the static key of the side that asked, if Code is CodeUnknown.
	Key PublicKey
}

func (e *RefusedError) Error() string {
	_, kinds := e.Code.Uses()
	switch {
	case !kinds:
	case e.Mode.Static() || e.Theirs.Static():
		return fmt.Sprintf("this side %s, the other one %s: give both the same kind of keys", has(e.Mode), has(e.Theirs))
	case e.Mode == wire.ModeInsecure:
		return "this side is insecure and the other one has a shared key: give this side the key"
	default:
		return "this side has a shared key and the other one is insecure: give that side the key"
	}
	switch e.Code {
	case wire.CodeKey:
		return e.wrongKey()
	case wire.CodeUnknown:
		if e.Here {
			return fmt.Sprintf("the other side has a key that is not in the list of clients here, so it was refused: if it may connect, add a line with its name and its public key %s", e.Key)
		}
		return fmt.Sprintf("the other side refused us: our key is not in its list of clients: let its owner add a line with a name and our public key %s", e.Key)
	case wire.CodeVersion:
		return fmt.Sprintf("the other side speaks version %d of the packet format, this side %d: run the same release on both", e.Version, wire.Version)
	case wire.CodeNobody:
		return "nobody listens there"
	case wire.CodeBusy:
		if e.Here {
			return "no room for another connection, so the other side was refused"
		}
		return "the other side has no room for another connection at present"
	}
	return fmt.Sprintf("the connection was refused for a reason that this release does not know (%v)", e.Code)
}

// wrongKey is the text for an INIT that could not be opened.
func (e *RefusedError) wrongKey() string {
	also := ""
	if e.Mode == wire.ModeStaticShared {
		also = ", or the shared keys differ"
	}
	switch {
	case e.Mode.Static() && e.Here:
		return "the other side asked for somebody with another key, so it was refused: its list of servers has a wrong public key for this side" + also
	case e.Mode.Static():
		return "the other side refused us: it does not have the key that is in our list of servers" + also
	case e.Here:
		return "the other side has a different shared key, so it was refused: give both sides the same"
	}
	return "the other side refused us: its shared key is a different one: give both sides the same"
}

// has says which keys a side with a mode has.
func has(m wire.Mode) string {
	switch m {
	case wire.ModeInsecure:
		return "is insecure"
	case wire.ModeNoise:
		return "has a shared key"
	case wire.ModeStatic:
		return "has a key of its own"
	case wire.ModeStaticShared:
		return "has a key of its own and a shared key"
	}
	return "has " + m.String()
}

// Is makes a wrong key match ErrKey.
func (e *RefusedError) Is(target error) bool { return target == ErrKey && e.Code == wire.CodeKey }

// An unknownError is for an INIT with a static key that is not in the list of
// clients.
type unknownError struct{ key PublicKey }

func (e *unknownError) Error() string { return "secure: unknown key " + e.key.String() }
