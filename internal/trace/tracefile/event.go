package tracefile

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// An Event is one line of a file.
type Event struct {
	Name string          `json:"name"`
	Cat  string          `json:"cat,omitempty"`
	Ph   string          `json:"ph"`
	S    string          `json:"s,omitempty"` // the scope of an instant
	TS   Micros          `json:"ts"`
	PID  int64           `json:"pid"`
	TID  int64           `json:"tid"`
	Dur  *Micros         `json:"dur,omitempty"` // of phase X
	ID2  *ID             `json:"id2,omitempty"` // of phases b, n and e
	Bind uint64          `json:"bind_id,omitempty"`
	Out  bool            `json:"flow_out,omitempty"`
	In   bool            `json:"flow_in,omitempty"`
	Args json.RawMessage `json:"args,omitempty"`
}

// An ID is unique within a process and a category.
type ID struct {
	Local string `json:"local"`
}

// Args are the arguments of our events. A file may lack any of them.
type Args struct {
	US        Micros `json:"us"`
	Bytes     int64  `json:"bytes"`
	Tag       int64  `json:"tag"`
	Class     int64  `json:"class"`
	Peer      any    `json:"peer"` // an address, or a rank
	WorldPeer *int64 `json:"world_peer"`
	Method    string `json:"method"`
	Comm      string `json:"comm"`
	Handle    string `json:"handle"`
	Result    string `json:"result"`
	Dropped   int64  `json:"dropped"`
	Full      int64  `json:"full"`
	Address   string `json:"address"` // of an endpoint
	Name      string `json:"name"`    // of a process

	Version   string `json:"version"` // of the header
	Wall      string `json:"wall_ns"`
	Monotonic string `json:"monotonic_ns"`
	Boot      string `json:"boot"`
	Host      string `json:"host"`
	Rank      string `json:"rank"`
	Program   string `json:"program"`
}

// args returns the arguments of an event.
func (e *Event) args() (a Args, err error) {
	if len(e.Args) == 0 {
		return a, nil
	}
	if err := json.Unmarshal(e.Args, &a); err != nil {
		return a, fmt.Errorf("the arguments of %.80q: %w", e.Name, err)
	}
	return a, nil
}

// peer is the other side as text.
func (a *Args) peer() string {
	switch p := a.Peer.(type) {
	case string:
		return p
	case float64:
		return strconv.FormatFloat(p, 'f', -1, 64)
	}
	return ""
}

// Micros is a time that a file has in microseconds, with three digits behind the point.
type Micros time.Duration

// MarshalJSON implements json.Marshaler.
func (m Micros) MarshalJSON() ([]byte, error) {
	sign := ""
	if m < 0 {
		sign, m = "-", -m
	}
	return fmt.Appendf(nil, "%s%d.%03d", sign, int64(m/1000), int64(m%1000)), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (m *Micros) UnmarshalJSON(b []byte) error {
	text, negative := strings.CutPrefix(string(b), "-")
	whole, part, _ := strings.Cut(text, ".")
	us, err := strconv.ParseUint(whole, 10, 63)
	if err != nil || len(part) > 9 || us > uint64(timeMax/time.Microsecond) {
		return fmt.Errorf("a time of %.40q microseconds", b)
	}
	ns := uint64(0)
	if part != "" {
		if ns, err = strconv.ParseUint((part + "00")[:3], 10, 10); err != nil {
			return fmt.Errorf("a time of %.40q microseconds", b)
		}
	}
	*m = Micros(us*1000 + ns)
	if negative {
		*m = -*m
	}
	return nil
}
