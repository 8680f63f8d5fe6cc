package proto

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// A scrub compares all bytes of a server with their checksums. Administrators of our servers start one by setting an extended
// attribute of any object, and read its state from the same attribute. Stock servers have no such attribute. The object only
// selects the server.
const (
	// ScrubKey is the attribute. It is set to the text of a ScrubOrder. Its value is a ScrubReport in JSON with the first damaged
	// places; ScrubFrom names the others.
	ScrubKey = "system.viaduct.scrub"
	// ScrubPage is the largest number of places in a report, so that it fits into an attribute.
	ScrubPage = 16
	// ScrubWhatMax is the length limit of each place's text, bytes. That of Error is four times as large.
	ScrubWhatMax = 256
)

// ScrubFrom is the attribute with the damaged places from number n on, counted from 0.
func ScrubFrom(n int) string { return ScrubKey + "." + strconv.Itoa(n) }

// ParseScrubKey reports whether an attribute belongs to a scrub, and the number of the first damaged place that it asks for.
func ParseScrubKey(key string) (from int, ok bool) {
	rest, ok := strings.CutPrefix(key, ScrubKey)
	if !ok || rest == "" {
		return 0, ok
	}
	digits, ok := strings.CutPrefix(rest, ".")
	n, err := strconv.ParseUint(digits, 10, 31)
	return int(n), ok && err == nil
}

// DamageKey is an extended attribute of a datafile: the offset of the block, in decimal bytes, that did not match its checksum
// when it was last read. It needs the right to read the datafile. It does not exist if no damage was found.
const DamageKey = "system.viaduct.damage"

// ScrubOrder starts or stops a scrub.
type ScrubOrder struct {
	Stop bool
	Rate int64 // bytes a second, at most; 0 is no limit
}

// String is "stop", or "start" and the rate.
func (o ScrubOrder) String() string {
	if o.Stop {
		return "stop"
	}
	return fmt.Sprintf("start %d", o.Rate)
}

// ParseScrubOrder parses the result of String. EINVAL.
func ParseScrubOrder(text string) (ScrubOrder, error) {
	if text == "stop" {
		return ScrubOrder{Stop: true}, nil
	}
	digits, ok := strings.CutPrefix(text, "start ")
	rate, err := strconv.ParseInt(digits, 10, 64)
	if !ok || err != nil || rate < 0 {
		return ScrubOrder{}, fmt.Errorf("proto: order %q for a scrub, want stop or start RATE: %w", text, EINVAL)
	}
	return ScrubOrder{Rate: rate}, nil
}

// ScrubReport is the state of a scrub, or the result of the last one. The zero value means that there was none since the server's
// start.
type ScrubReport struct {
	Running      bool   `json:"running"`
	Began        int64  `json:"began,omitempty"` // Unix seconds
	Ended        int64  `json:"ended,omitempty"`
	Datafiles    int64  `json:"datafiles"` // read so far
	Bytes        int64  `json:"bytes"`
	DatafilesAll int64  `json:"datafiles_all"` // number when it began
	Error        string `json:"error,omitempty"`

	Found  int           `json:"found"`            // damaged places so far
	From   int           `json:"from,omitempty"`   // number of the first place in Damage
	Damage []ScrubDamage `json:"damage,omitempty"` // some of them
}

// ScrubDamage is one damaged place.
type ScrubDamage struct {
	Datafile Handle `json:"datafile,omitempty"` // 0: the damage is in the database
	Metafile Handle `json:"metafile,omitempty"` // of the file; 0: not known
	Offset   int64  `json:"offset,omitempty"`   // in the datafile, bytes
	Length   int64  `json:"length,omitempty"`
	What     string `json:"what"`
}

// Value is the report as the value of an attribute.
func (r *ScrubReport) Value() ([]byte, error) { return json.Marshal(r) }

// ParseScrubReport parses a report from a server. EPROTO.
func ParseScrubReport(value []byte) (r ScrubReport, err error) {
	if err := json.Unmarshal(value, &r); err != nil {
		return ScrubReport{}, fmt.Errorf("proto: report of a scrub: %w: %w", err, EPROTO)
	}
	if r.Found < 0 || r.From < 0 || len(r.Damage) > ScrubPage || r.From > r.Found-len(r.Damage) || r.Datafiles < 0 || r.Bytes < 0 {
		return ScrubReport{}, fmt.Errorf("proto: report of a scrub that contradicts itself: %w", EPROTO)
	}
	if len(r.Damage) == 0 {
		r.Damage = nil // as it is without the field
	}
	return r, nil
}
