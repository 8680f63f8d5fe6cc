package client

import (
	"log/slog"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/pvfs/credential"
	"github.com/viaduct-hpc/viaduct/pvfs/usercert"
)

// Options are of Mount. Zero values mean defaults.
type Options struct {
	// Endpoint carries the requests, and stays the caller's. nil: Mount opens one, which
	// Close closes.
	Endpoint *bmi.Endpoint
	// Methods are methods to open in an endpoint that Mount opens, by name; others open when an
	// address needs them. Of several addresses of a server, those of earlier methods are
	// preferred; without Methods those of the method that Mount was given.
	Methods []string

	// User is for whom everything is done; nil is this process's user and groups.
	User *Identity
	// Key signs credentials, for servers with a keystore. nil leaves credentials unsigned.
	Key *credential.Key
	// Certificate finds the certificate of a user, for servers with an authority (CAFile in their configuration). It is asked again when a credential
	// is renewed, so a new certificate takes the place of an old one. nil, fs.ErrNotExist and other errors leave the credential to Key.
	Certificate func(Identity) (*usercert.Certificate, error)
	// Host is the name of this machine in credentials, and of Key in the keystore, there with C: in front. "" asks the system.
	Host string

	// AttrTime, SizeTime and NameTime are how long attributes, sizes of files and names
	// are kept: 60 s, 10 s and 3 s. Below 0: not at all.
	AttrTime, SizeTime, NameTime time.Duration
	// Objects and Names bound how many are kept: 16384 each. Below 0: none.
	Objects, Names int

	// Timeout and FlowTimeout are how long a server may take to answer, and how long the bytes of
	// a file may stand still. RetryLimit is how often a request is repeated that was not answered, below 0 never,
	// RetryDelay how long to wait before. The file system's configuration has the defaults.
	Timeout, FlowTimeout time.Duration
	RetryLimit           int
	RetryDelay           time.Duration

	// Log takes the few events worth a line; nil discards them.
	Log *slog.Logger
	// Clock is the time of day; nil is the system's.
	Clock func() time.Time
	// Seed chooses the servers of new objects; 0 takes one from the clock.
	Seed uint64
}

// Identity is a user ID and group IDs. The first group is the primary one. Servers without a keystore believe it, within the
// limits of their configuration.
type Identity struct {
	UID    uint32
	Groups []uint32
}

// Defaults of Options, as stock clients have them.
const (
	attrTime    = 60 * time.Second
	sizeTime    = 10 * time.Second
	nameTime    = 3 * time.Second
	objectsMax  = 16384
	namesMax    = 16384
	mountTime   = 30 * time.Second // for an answer, during Mount
	compareTime = 5 * time.Second  // for the answers of all other servers, which Mount can do without
	mountRepeat = 200 * time.Millisecond
	// mountPatience is how long Mount tries again.
	mountPatience = time.Second
)

func (o Options) withDefaults() Options {
	timeOr(&o.AttrTime, attrTime)
	timeOr(&o.SizeTime, sizeTime)
	timeOr(&o.NameTime, nameTime)
	countOr(&o.Objects, objectsMax)
	countOr(&o.Names, namesMax)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Seed == 0 {
		o.Seed = uint64(time.Now().UnixNano())
	}
	return o
}

// timeOr puts the default in place of 0, and 0 in place of what is below.
func timeOr(v *time.Duration, def time.Duration) {
	if *v == 0 {
		*v = def
	}
	*v = max(*v, 0)
}

func countOr(v *int, def int) {
	if *v == 0 {
		*v = def
	}
	*v = max(*v, 0)
}
