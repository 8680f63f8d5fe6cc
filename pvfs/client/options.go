package client

import (
	"log/slog"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/pvfs/credential"
	"github.com/viaduct-hpc/viaduct/pvfs/usercert"
)

// Options configure Mount. Zero values mean defaults.
type Options struct {
	// Endpoint carries the requests. Close leaves it open. nil: Mount opens an endpoint, which Close closes.
	Endpoint *bmi.Endpoint
	// Methods are the network methods, by name, to open in an endpoint that Mount opens. Others are opened when an address needs
	// them. If a server has several addresses, those of earlier methods are preferred; without Methods, those of the method in
	// Mount's source.
	Methods []string

	// User is the user for whom the view acts; nil is the user and groups of this process.
	User *Identity
	// Key signs credentials, for servers with a keystore. nil: credentials are not signed.
	Key *credential.Key
	// Certificate returns the certificate of a user, for servers with an authority (CAFile in their configuration). It is called
	// again when a credential is renewed, so a new certificate replaces an old one. If it is nil or fails, for example with
	// fs.ErrNotExist, Key signs the credential.
	Certificate func(Identity) (*usercert.Certificate, error)
	// Host is the name of this machine in credentials. In the keystore, Key has this name with C: in front. "" asks the system.
	Host string

	// AttrTime, SizeTime and NameTime are how long attributes, sizes of files and names are cached: 60 s, 10 s and 3 s. Below 0:
	// not at all.
	AttrTime, SizeTime, NameTime time.Duration
	// Objects and Names limit how many are cached: 16384 each. Below 0: none.
	Objects, Names int

	// Timeout is how long a server may take to answer, FlowTimeout how long a flow may be without progress. RetryLimit is how
	// often an unanswered request is repeated, below 0 never; RetryDelay is the pause before that. The defaults are in the file
	// system's configuration.
	Timeout, FlowTimeout time.Duration
	RetryLimit           int
	RetryDelay           time.Duration

	// Log receives the few events worth a line; nil discards them.
	Log *slog.Logger
	// Clock is the time of day; nil is the system's.
	Clock func() time.Time
	// Seed is for the random choice of servers for new objects; 0 takes it from the clock.
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
	compareTime = 5 * time.Second  // for the answers of all other servers; Mount may succeed without them
	mountRepeat = 200 * time.Millisecond
	// mountPatience is how long Mount repeats its first request.
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

// timeOr replaces 0 by the default, and a negative time by 0.
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
