package prom

import (
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/viaduct-hpc/viaduct/internal/watch"
)

// Metrics of the process and of its peers.
var (
	buildInfo = gauge("build_info", "1; the labels say what runs", "program", "version")
	startTime = gauge("start_time_seconds", "when the process started, in seconds since 1970")

	peers            = gauge("peers", "peers, by the state of the connection", "method", "state")
	peersCredits     = gauge("peers_credits", "credits to send with, over all peers", "method")
	peersWindow      = gauge("peers_window_bytes", "bytes that may be under way at once, over all peers", "method")
	peersQueued      = gauge("peers_queued_sends", "sends that wait for a connection, a credit or room, over all peers", "method")
	peersQueuedBytes = gauge("peers_queued_bytes", "bytes of the sends that wait, over all peers", "method")
	peersRoundTrip   = gauge("peers_highest_round_trip_seconds", "highest of the peers' median round trips", "method")
	rails            = gauge("rails", "connections of peers that have several, by state", "method", "state")
)

// Metrics of a file server.
var (
	serverInfo   = gauge("pvfs_info", "1; the labels say which server of which file system it is", "server", "file_system")
	failed       = counter("pvfs_requests_failed_total", "requests that were refused or failed", "kind")
	active       = gauge("pvfs_requests_active", "requests that are being carried out", "kind")
	duration     = gauge("pvfs_request_duration_seconds", "how long requests took, from the start of their handler", "kind") // sent as a histogram
	readBytes    = counter("pvfs_read_bytes_total", "bytes of files that clients have read")
	writtenBytes = counter("pvfs_written_bytes_total", "bytes of files that clients have written")
	space        = gauge("pvfs_space_bytes", "size of the disk that the server stores on")
	spaceFree    = gauge("pvfs_space_free_bytes", "bytes of it that are free")
	refused      = counter("pvfs_refused_total", "requests and transfers that were refused, held back or ended", "reason")
	workRunning  = gauge("pvfs_work_running", "1 while a scrub or heal runs", "work")
	workDone     = gauge("pvfs_work_done", "how far the present or last one has come, in the unit", "work", "unit")
	workAll      = gauge("pvfs_work_size", "how much it has to do, in the unit; 0: not known", "work", "unit")
	workFound    = gauge("pvfs_work_found", "damaged or missing places that it found", "work")
	workRepaired = gauge("pvfs_work_repaired", "places that it repaired", "work")
)

// Metrics of a process of an MPI job.
var (
	mpiInfo        = gauge("mpi_info", "1; the label is the name of the job", "mpi_job")
	mpiRank        = gauge("mpi_rank", "rank in MPI_COMM_WORLD")
	mpiSize        = gauge("mpi_size", "number of processes of MPI_COMM_WORLD")
	mpiWaits       = gauge("mpi_waits", "what calls wait for now, by call", "call")
	mpiLongestWait = gauge("mpi_longest_wait_seconds", "how long the first of the calls that wait has waited; 0: none waits")
)

// addFamilies adds everything but the counts.
func addFamilies(to chan<- prometheus.Metric, s *watch.Snapshot) {
	buildInfo.send(to, 1, s.Program, s.Version)
	startTime.send(to, float64(s.Started.UnixMilli())/1000)
	addPeers(to, s)
	if s.Server != nil {
		addServer(to, s.Server)
	}
	if s.Rank != nil {
		addRank(to, s.Rank, s.Taken)
	}
}

// states are the states of connections. The method says the state, and a method can be another program.
var states = []string{"INIT", "WAIT", "READY", "DISCONNECT"}

const otherState = "other"

// peerSums are the sums over the peers of a method.
type peerSums struct {
	states, rails                           map[string]float64
	credits, window, queued, bytes, longest float64
}

func (sum *peerSums) add(p *watch.Peer) {
	sum.states[stateOf(p.State)]++
	sum.credits += float64(p.Credits)
	sum.window += float64(p.Window)
	sum.queued += float64(p.QueuedSends)
	sum.bytes += float64(p.QueuedBytes)
	sum.longest = max(sum.longest, p.RoundTrip.Seconds())
	for i := range p.Rails {
		sum.rails[stateOf(p.Rails[i].State)]++
	}
}

func stateOf(state string) string {
	if slices.Contains(states, state) {
		return state
	}
	return otherState
}

func addPeers(to chan<- prometheus.Metric, s *watch.Snapshot) {
	sums := map[string]*peerSums{}
	of := func(method string) *peerSums {
		if sums[method] == nil {
			sums[method] = &peerSums{states: map[string]float64{}, rails: map[string]float64{}}
			for _, state := range states {
				sums[method].states[state] = 0
			}
		}
		return sums[method]
	}
	for i := range s.Endpoints {
		e := &s.Endpoints[i]
		for j := range e.Methods {
			of(e.Methods[j].Name)
		}
		for j := range e.Peers {
			if sums[e.Peers[j].Method] != nil { // otherwise it is of no method that is open
				of(e.Peers[j].Method).add(&e.Peers[j])
			}
		}
	}
	for _, method := range slices.Sorted(maps.Keys(sums)) {
		sum := sums[method]
		for state, n := range sum.states {
			peers.send(to, n, method, state)
		}
		for state, n := range sum.rails {
			rails.send(to, n, method, state)
		}
		peersCredits.send(to, sum.credits, method)
		peersWindow.send(to, sum.window, method)
		peersQueued.send(to, sum.queued, method)
		peersQueuedBytes.send(to, sum.bytes, method)
		peersRoundTrip.send(to, sum.longest, method)
	}
}

func addServer(to chan<- prometheus.Metric, s *watch.Server) {
	serverInfo.send(to, 1, s.Alias, s.FileSystem)
	for i := range s.Requests {
		r := &s.Requests[i]
		failed.send(to, float64(r.Failed), r.Kind)
		active.send(to, float64(r.Active), r.Kind)
		buckets, n := map[float64]uint64{}, uint64(0)
		for j, bound := range r.Bounds {
			n += r.Counts[j]
			buckets[bound] = n
		}
		to <- prometheus.MustNewConstHistogram(duration.desc(), r.Count, r.Sum, buckets, r.Kind)
	}
	readBytes.send(to, float64(s.BytesRead))
	writtenBytes.send(to, float64(s.BytesWritten))
	space.send(to, float64(s.SpaceTotal))
	spaceFree.send(to, float64(s.SpaceFree))
	for reason, n := range s.Refused {
		refused.send(to, float64(n), reason)
	}
	addWork(to, "scrub", s.Scrub)
	addWork(to, "heal", s.Heal)
}

// addWork adds a long work, if there is or was one.
func addWork(to chan<- prometheus.Metric, work string, p *watch.Progress) {
	if p == nil {
		return
	}
	running := 0.0
	if p.Running {
		running = 1
	}
	workRunning.send(to, running, work)
	workDone.send(to, float64(p.Done), work, p.Unit)
	workAll.send(to, float64(p.Total), work, p.Unit)
	workFound.send(to, float64(p.Found), work)
	workRepaired.send(to, float64(p.Repaired), work)
}

func addRank(to chan<- prometheus.Metric, r *watch.Rank, now time.Time) {
	mpiInfo.send(to, 1, r.Job)
	mpiRank.send(to, float64(r.Rank))
	mpiSize.send(to, float64(r.Size))
	calls, longest := map[string]float64{}, time.Duration(0)
	for i := range r.Waits {
		calls[r.Waits[i].Call]++
		longest = max(longest, now.Sub(r.Waits[i].Since))
	}
	for call, n := range calls {
		mpiWaits.send(to, n, call)
	}
	mpiLongestWait.send(to, longest.Seconds())
}
