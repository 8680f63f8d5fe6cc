package server

import (
	"runtime"
	"time"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// Limits of one request.
const (
	// datafilesMax limits the datafiles of a file, and dirdataMax the dirdata objects of a directory. A capability lists all of
	// them and the object itself.
	datafilesMax = min(proto.MaxDatafiles, proto.MaxHandles-1)
	dirdataMax   = 256
	// LOOKUP_PATH returns all attributes of a file with up to lookupDatafilesMax datafiles: the answer must fit into the client's
	// receive buffer.
	lookupDatafilesMax = 64
	// smallReadBytesMax is the largest answer to a SMALL_IO read. A stock client has no room for more.
	smallReadBytesMax = proto.MaxUnexpected
	// splitBytesMax limits the entries in one request of a division: it must fit into an unexpected message.
	splitBytesMax = 12 << 10
	// treeOwnAtOnce is how many changes of this server's objects a tree request has under way at once. They share a commit.
	treeOwnAtOnce = 16
)

// Limits of CPU time, see throttle. A step is a few tens of nanoseconds.
const (
	// sliceSteps is the work that a request does before it waits in the queue, and between two waits.
	sliceSteps = 4096
	// A system call that moves fewer than shortBytes costs callSteps. A longer one costs nothing here.
	shortBytes = 4096
	callSteps  = 64
	// A place rests after its use if a request that needed none ended within restsAfterBrief, for restMax at most.
	restsAfterBrief = 10 * time.Millisecond
	restMax         = 5 * time.Millisecond
)

// throttlePlaces is how many requests that need much CPU time run at once: one for every two CPUs.
func throttlePlaces() int { return max(runtime.GOMAXPROCS(0)/2, 1) }

// Limits of queues and caches, for the whole server.
const (
	// waitersMax limits the handlers that wait for a lock which another handler has alone. Some handlers must always be left to
	// serve other servers: the handler with the lock may be waiting for those.
	waitersMax = 6
	// namedMax limits the notes about new names. If a note is dropped too early, its object still counts as made in the old
	// directory. Its owner and root can still remove it.
	namedMax = 8192
	// withdrawalsMax is the largest number of withdrawals that a server remembers. When it is reached, all capabilities that the
	// object's server has issued so far become void, and each user gets a new one.
	withdrawalsMax = 1 << 16
	// tellLaterMax is how many notices for other servers are kept for later delivery. Further ones are dropped.
	tellLaterMax = 1024
	// usersMax is how many users are remembered and returned. A stock client has no room for more.
	usersMax = 25
	// perfHistory samples of the counters are kept, unless SETPARAM sets another number up to perfSamplesMax. perfTold is how
	// many values fit into a response.
	perfHistory    = 10
	perfSamplesMax = perfTold / perfValues
	perfTold       = 8192 / 8
)

// Times and numbers of tries.
const (
	// namedFor is how long after it got a new name an object's old name may be removed.
	namedFor = time.Minute
	// tellPatience is how long a request waits until other servers have received the notice of its change.
	tellPatience = 2 * time.Second
	// fetchTimeMax limits a fetch of datafiles. A server that stops waits for it, so that datafiles made elsewhere are not lost.
	fetchTimeMax = 10 * time.Second
	// greetDelay is the pause before a server asks another one again that does not answer.
	greetDelay = 5 * time.Second
	// While a directory is divided, a name may be in transit between two servers. The lookup is tried findTries times, with a
	// pause of findDelay that doubles each time.
	findTries = 10
	findDelay = 2 * time.Millisecond
	// A call to another server is tried callRounds times over all its addresses, with a pause of callRoundDelay that doubles each
	// time. That is long enough for a restart of the server.
	callRounds     = 4
	callRoundDelay = 50 * time.Millisecond
	// splitRetry is the pause after a failed division of a directory. splitRepair is the pause between two tries to finish or
	// undo one; it doubles up to splitRepairMax.
	splitRetry     = 10 * time.Second
	splitRepair    = time.Second
	splitRepairMax = time.Minute
	// perfInterval is how often a sample of the counters is taken.
	perfInterval = time.Second
)
