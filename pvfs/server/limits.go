package server

import (
	"runtime"
	"time"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// Limits of one request.
const (
	// datafilesMax bounds the datafiles of a file, and dirdataMax the dirdata objects of a directory: a capability lists them, and the
	// object itself.
	datafilesMax = min(proto.MaxDatafiles, proto.MaxHandles-1)
	dirdataMax   = 256
	// lookupDatafilesMax is up to how many datafiles a file may have for LOOKUP_PATH to answer with all of its attributes: the answer must
	// fit into what a client keeps ready for it.
	lookupDatafilesMax = 64
	// smallReadBytesMax is the largest answer to a SMALL_IO read: a stock client has room for no more.
	smallReadBytesMax = proto.MaxUnexpected
	// splitBytesMax bounds the entries in one request of a division: it must fit into an unexpected message.
	splitBytesMax = 12 << 10
	// treeOwnAtOnce is how many changes of own objects a request on many objects has under way: they share a commit.
	treeOwnAtOnce = 16
)

// Limits of processor time, see throttle. A step is some ten nanoseconds.
const (
	// sliceSteps is the work that a request does before it waits in the line, and between two waits.
	sliceSteps = 4096
	// A call of the system that moves fewer than shortBytes costs callSteps. A longer one is worth what it costs.
	shortBytes = 4096
	callSteps  = 64
)

// throttlePlaces is how many requests that need much processor time run at once: one for every second processor.
func throttlePlaces() int { return max(runtime.GOMAXPROCS(0)/2, 1) }

// Limits of what waits, and of what is remembered, in all.
const (
	// waitersMax bounds the handlers that wait for a lock that another one has alone. There must always be some left that serve other
	// servers: the handler with the lock may be waiting for those.
	waitersMax = 6
	// namedMax bounds the notes about new names. An object whose note was forgotten too early counts as made where it was: its owner
	// and root can still remove it.
	namedMax = 8192
	// withdrawalsMax is the largest number of withdrawals that a server remembers. Beyond it, all capabilities that the object's server
	// issued so far are void, and each user gets a new one.
	withdrawalsMax = 1 << 16
	// tellLaterMax is how much a server keeps to tell others later. Beyond, they are not told.
	tellLaterMax = 1024
	// usersMax is how many users are remembered and told: a stock client has room for no more.
	usersMax = 25
	// perfHistory samples of the counters are kept, unless SETPARAM says otherwise, perfSamplesMax at most. perfTold is how many
	// values fit into a response.
	perfHistory    = 10
	perfSamplesMax = perfTold / perfValues
	perfTold       = 8192 / 8
)

// Times, and how often something is tried.
const (
	// namedFor is how long the old name of an object may go after it got the new one.
	namedFor = time.Minute
	// tellPatience is how long a request waits for other servers to be told what it changed.
	tellPatience = 2 * time.Second
	// fetchTimeMax bounds a fetch of datafiles. A server that stops waits for it, so that what others made is kept.
	fetchTimeMax = 10 * time.Second
	// greetDelay is how long a server waits before it asks another one again that does not answer.
	greetDelay = 5 * time.Second
	// While a directory is divided a name may be on its way. It is looked for findTries times, first after findDelay, which doubles
	// each time.
	findTries = 10
	findDelay = 2 * time.Millisecond
	// A call to another server is tried callRounds times over all its addresses, first after callRoundDelay, which doubles each
	// time. A server that was restarted is reached again within these.
	callRounds     = 4
	callRoundDelay = 50 * time.Millisecond
	// splitRetry is the pause after a division of a directory that failed, splitRepair that between two tries to finish or undo one; it
	// doubles up to splitRepairMax.
	splitRetry     = 10 * time.Second
	splitRepair    = time.Second
	splitRepairMax = time.Minute
	// perfInterval is how often a sample of the counters is taken.
	perfInterval = time.Second
)
