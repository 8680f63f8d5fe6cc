package proto

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Administrators of our servers begin a scrub, a comparison of all bytes with their checksums, by setting an extended attribute of any object, and read
// how it goes from the same attribute. Other servers have no such attribute. A server takes the object for the way to it alone.
const (
	// ScrubKey is the attribute. To set it takes the text of a ScrubOrder. Reading it gives a ScrubReport, in JSON, with the first Damage that was
	// found; ScrubFrom names the rest.
	ScrubKey = "system.viaduct.scrub"
	// ScrubPage is how many of these a report has at most, so that it fits an attribute.
	ScrubPage = 16
	// ScrubWhatMax is how long each of their texts is, and a quarter of the longest Error, bytes.
	ScrubWhatMax = 256
)

// ScrubFrom is the attribute that has the damage from the n-th on, counted from 0.
func ScrubFrom(n int) string { return ScrubKey + "." + strconv.Itoa(n) }

// ParseScrubKey tells whether an attribute is one of a scrub, and from which damage on.
func ParseScrubKey(key string) (from int, ok bool) {
	rest, ok := strings.CutPrefix(key, ScrubKey)
	if !ok || rest == "" {
		return 0, ok
	}
	digits, ok := strings.CutPrefix(rest, ".")
	n, err := strconv.ParseUint(digits, 10, 31)
	return int(n), ok && err == nil
}

// DamageKey is an extended attribute of a datafile: in decimal the place of the block, in bytes from the datafile's beginning, that did not match its checksum when
// it was read last. Whoever may read the datafile may read it. There is none if no damage was met.
const DamageKey = "system.viaduct.damage"

// ScrubOrder says what is to be done.
type ScrubOrder struct {
	Stop bool
	Rate int64 // bytes a second at most; 0 is no limit
}

// String is "stop", or "start" and the rate.
func (o ScrubOrder) String() string {
	if o.Stop {
		return "stop"
	}
	return fmt.Sprintf("start %d", o.Rate)
}

// ParseScrubOrder reads what String writes. EINVAL.
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

// ScrubReport says how a scrub goes, or how the last one ended. The zero value is of a server that did none since its start.
type ScrubReport struct {
	Running      bool   `json:"running"`
	Began        int64  `json:"began,omitempty"` // Unix seconds
	Ended        int64  `json:"ended,omitempty"`
	Datafiles    int64  `json:"datafiles"` // read so far
	Bytes        int64  `json:"bytes"`
	DatafilesAll int64  `json:"datafiles_all"` // there were when it began
	Error        string `json:"error,omitempty"`

	Found  int           `json:"found"`            // damages so far
	From   int           `json:"from,omitempty"`   // the number of the first in Damage
	Damage []ScrubDamage `json:"damage,omitempty"` // some of them
}

// ScrubDamage is one that was found.
type ScrubDamage struct {
	Datafile Handle `json:"datafile,omitempty"` // 0: of the database
	Metafile Handle `json:"metafile,omitempty"` // of the file; 0 if it is not known
	Offset   int64  `json:"offset,omitempty"`   // in the datafile, bytes
	Length   int64  `json:"length,omitempty"`
	What     string `json:"what"`
}

// Value is the report as the value of an attribute.
func (r *ScrubReport) Value() ([]byte, error) { return json.Marshal(r) }

// ParseScrubReport reads a report that a server sent. EPROTO.
func ParseScrubReport(value []byte) (r ScrubReport, err error) {
	if err := json.Unmarshal(value, &r); err != nil {
		return ScrubReport{}, fmt.Errorf("proto: report of a scrub: %w: %w", err, EPROTO)
	}
	if r.Found < 0 || r.From < 0 || len(r.Damage) > ScrubPage || r.From+len(r.Damage) > r.Found || r.Datafiles < 0 || r.Bytes < 0 {
		return ScrubReport{}, fmt.Errorf("proto: report of a scrub that contradicts itself: %w", EPROTO)
	}
	return r, nil
}
