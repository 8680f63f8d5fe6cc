package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/perf"
)

// Names of contenders in the results.
const (
	bare       = perf.MethodBare
	bareC      = "bare-c"
	ours       = "via+shm"
	registered = "via+shm registered"
	openMPI    = "openmpi"
	mpich      = "mpich"
	ucx        = "ucx"
	libfabric  = "libfabric"
	pipes      = "pipe"
	crowd      = "via+shm crowd"
	oursMPI    = "mpi"

	// Over TCP on loopback.
	bareSocket   = "bare socket"
	oursTCP      = "tcp"
	openMPITCP   = "openmpi tcp"
	mpichTCP     = "mpich tcp"
	ucxTCP       = "ucx tcp"
	libfabricTCP = "libfabric tcp"

	// Over UDP on loopback.
	bareUDP       = "bare udp"
	oursUDP       = "via+udp insecure"
	oursUDPSecure = "via+udp secure"
	openMPIUDP    = "openmpi udp"
	libfabricUDP  = "libfabric udp"
)

// overTCP are the contenders over TCP, which are compared only with each other.
var overTCP = []string{bareSocket, oursTCP, openMPITCP, mpichTCP, ucxTCP, libfabricTCP}

// overUDP are the contenders over UDP, and besideUDP those over TCP with which they
// are compared.
var (
	overUDP   = []string{bareUDP, oursUDP, oursUDPSecure, openMPIUDP, libfabricUDP}
	besideUDP = []string{ucxTCP, libfabricTCP}
)

// A contender is one participant of the comparison.
type contender struct {
	name string
	// run measures all points of the contender once.
	run func(ctx context.Context) ([]perf.Result, error)
	// missing is the reason why it cannot take part; run is then nil.
	missing string
}

func absent(name, why string) contender { return contender{name: name, missing: why} }

// notInstalled is the table's text for a peer that is missing.
const notInstalled = "not installed (make bench-deps)"

// The sizes for all contenders, in bytes.
var (
	latencySizes   = []int{8, 64, 1 << 10, 8 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20}
	bandwidthSizes = []int{4 << 10, 64 << 10, 1 << 20, 4 << 20}
)

// sizes are those that a contender measures.
type sizes struct{ latencies, bandwidths []int }

// allSizes are measured in an ordinary round.
var allSizes = sizes{latencies: latencySizes, bandwidths: bandwidthSizes}

const (
	rateSize   = 8
	rateWindow = 64
)

// runMax is how long one program may run before it is considered hung.
const runMax = 5 * time.Minute

// killedMax is how long the output of a program that was ended may still be read.
const killedMax = 5 * time.Second

// prepare builds the programs and lists all contenders.
func prepare(ctx context.Context, cfg config) []contender {
	switch cfg.only {
	case groupPVFS:
		return pvfsContenders(ctx, cfg)
	case groupStrangers, groupStates, groupBusy:
		return nil
	case groupThreads:
		return []contender{threadsContender(cfg)}
	case groupHosts:
		return []contender{hostsContender(cfg)}
	case groupOversubscribed:
		return oversubscribedContenders(ctx, cfg)
	case groupOneSided:
		return oneSidedContenders(ctx, cfg)
	case groupFiles:
		return filesContenders(ctx, cfg)
	case groupStart:
		return startContenders(ctx, cfg)
	case groupBuilds:
		return buildContenders(cfg)
	case groupCheckpoint:
		return checkpointContenders(cfg)
	}
	all := append([]contender{
		limitsContender(cfg), registeredContender(cfg), crowdContender(cfg), oursContender(cfg, plain(ours)), oursMPIContender(cfg),
		mpiContender(ctx, cfg, openMPI), mpiContender(ctx, cfg, mpich), ucxContender(cfg, ucx), fabricContender(cfg, libfabric),
		socketContender(cfg), oursContender(cfg, plain(oursTCP)),
		mpiContender(ctx, cfg, openMPITCP), mpiContender(ctx, cfg, mpichTCP), ucxContender(cfg, ucxTCP), fabricContender(cfg, libfabricTCP),
		udpContender(cfg), oursContender(cfg, insecureUDP()), oursContender(cfg, secureUDP(cfg)),
		mpiContender(ctx, cfg, openMPIUDP), fabricContender(cfg, libfabricUDP),
	}, cContenders(ctx, cfg)...)
	all = append(all, sortContenders(ctx, cfg)...)
	all = append(all, oversubscribedContenders(ctx, cfg)...)
	all = append(all, oneSidedContenders(ctx, cfg)...)
	all = append(all, filesContenders(ctx, cfg)...)
	all = append(all, startContenders(ctx, cfg)...)
	all = append(all, threadsContender(cfg), hostsContender(cfg))
	all = append(all, checkpointContenders(cfg)...)
	all = append(all, inTurnContenders(cfg)...)
	return append(all, pvfsContenders(ctx, cfg)...)
}

// command runs a program to its end and returns its output.
func command(ctx context.Context, env []string, name string, args ...string) ([]byte, error) {
	return commandWithin(ctx, runMax, env, name, args...)
}

// commandWithin is command with another time limit.
func commandWithin(ctx context.Context, limit time.Duration, env []string, name string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), env...)
	var errors bytes.Buffer
	cmd.Stderr = &errors
	cmd.WaitDelay = killedMax // what it started may still have its output open
	out, err := cmd.Output()
	if ctx.Err() != nil {
		err = fmt.Errorf("no end within %v", limit)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", name, err, lastLine(errors.String()))
	}
	return out, nil
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// parseResults reads lines of JSON in the format of `bmi perf --json`.
func parseResults(out []byte) ([]perf.Result, error) {
	var all []perf.Result
	for line := range bytes.Lines(out) {
		if !bytes.HasPrefix(line, []byte("{")) {
			continue // other output of a library
		}
		var r perf.Result
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, fmt.Errorf("cannot read the result %q: %w", line, err)
		}
		all = append(all, r)
	}
	if len(all) == 0 {
		return nil, errors.New("no results were printed")
	}
	return all, nil
}

// find looks for programs and reports which is missing.
func find(names ...string) bool {
	for _, n := range names {
		if _, err := exec.LookPath(n); err != nil {
			return false
		}
	}
	return true
}

// onCores makes a command line run only on the two cores of the comparison, if the
// machine has more.
func onCores(cfg config, line ...string) []string {
	allowed, err := perf.AllowedCores()
	if err != nil || len(allowed) <= 2 || !find("taskset") {
		return line
	}
	if self, err := os.Executable(); err == nil && line[0] == perf.SelfCommand()[0] {
		line = append([]string{self}, line[1:]...) // "self" would be taskset
	}
	return append([]string{"taskset", "-c", cfg.cores.String()}, line...)
}

// startPinned starts a program whose threads all run on one core.
func startPinned(cmd *exec.Cmd, core int) error {
	undo, err := perf.PinThread(core)
	if err != nil {
		return err
	}
	defer undo()
	return cmd.Start()
}
