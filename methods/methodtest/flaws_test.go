package methodtest_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/race"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
	"github.com/viaduct-hpc/viaduct/methods/methodtest"
)

// A flaw is a bug planted in the flawed method.
type flaw string

const (
	none flaw = ""

	losesEager        flaw = "loses a small message now and then"
	losesLarge        flaw = "loses a large message now and then"
	losesEmpty        flaw = "does not send empty messages"
	losesUnexpected   flaw = "loses an unexpected message now and then"
	repeatsMessage    flaw = "delivers a message twice now and then"
	repeatsUnexpected flaw = "delivers an unexpected message twice now and then"
	completesTwice    flaw = "completes a receive a second time, when the endpoint uses it again"
	delaysUnexpected  flaw = "lets unexpected messages overtake"
	earlyNewestFirst  flaw = "keeps early messages newest first"
	matchesNewest     flaw = "matches the newest receive first"
	matchesAnyPeer    flaw = "matches messages of the wrong peer"
	matchesLowTag     flaw = "matches the low eight bits of the tag"
	corruptsLarge     flaw = "flips a bit in a large message now and then"
	skipsAfterEmpty   flaw = "ends a list at an empty piece"
	spillsOver        flaw = "writes behind the message"
	ignoresTruncation flaw = "truncates without an error"
	forgetsLength     flaw = "reports the room as the length of a truncated message"
	truncationSpreads flaw = "fails the sender of a truncated message"
	keepsRest         flaw = "gives the rest of a truncated message to the next receive"
	readsLate         flaw = "reads the buffer of a send that is done"
	writesWhenClosed  flaw = "writes to the buffers of old receives when it is closed"
	ignoresCancel     flaw = "ignores cancel"
	cancelEats        flaw = "gives a message to a receive that was cancelled"
	dropsNothing      flaw = "leaves the operations of a dropped peer pending"
	dropKeepsEarly    flaw = "keeps the early messages of a dropped peer"
	forgetsOneOp      flaw = "forgets one operation when a peer leaves"
	leavesSilently    flaw = "does not tell its peers that it leaves"
	staleName         flaw = "keeps its name taken when it leaves"
	namesCollide      flaw = "does not notice that a name is taken"
	waitsForNobody    flaw = "waits for a peer that is not there"
	dropsRefused      flaw = "drops unexpected messages for which there is no room"
	holdsUpAll        flaw = "holds up everybody when there is no room for one unexpected message"
	forgetsClass      flaw = "forgets the class"
	wrongSender       flaw = "names another sender"
	freshAddresses    flaw = "makes a new address for every lookup"
	liesAboutPieces   flaw = "takes fewer pieces than it says"

	sharesMemory          flaw = "gives the same memory to everybody"
	everywhere            flaw = "finds every address in every range"
	neverChecks           flaw = "believes everybody to be alive"
	neverCounts           flaw = "does not count what it moves"
	keepsForEver          flaw = "keeps early messages for ever"
	oversleeps            flaw = "sleeps on when something arrives"
	leaksGoroutines       flaw = "leaves a goroutine behind"
	losesFromHandlers     flaw = "loses what a handler sends"
	ignoresHandlersCancel flaw = "ignores cancel from a handler"
	ignoresCancelOfSends  flaw = "ignores cancel of sends"
	remembersAbsence      flaw = "never connects to a peer that was not there once"
	failsEverybody        flaw = "fails the receives from everybody when one peer leaves"
	overflows             flaw = "loses messages when many are under way"
	collides              flaw = "loses a message when both sides begin to talk at once"
	discardsOnClose       flaw = "discards on close what it has accepted"
	corruptsSmall         flaw = "flips a bit in every small message"
	hidesItsAddress       flaw = "does not tell on which address it listens"
	takesAnyAddress       flaw = "takes an address without a name"
	mumbles               flaw = "has peers whose text is not their address"
	hangsInClose          flaw = "does not return from Close"

	misreadsFiles        flaw = "takes the bytes of a file from another place"
	makesFilesUp         flaw = "sends something for what a file does not have"
	failsAtFileEnds      flaw = "fails a send that goes past the end of its file"
	neverHasFilesChecked flaw = "sends bytes of files that nobody checked"
	checksHalf           flaw = "has half of the bytes of a file checked"
	hidesReadErrors      flaw = "sends zeros for what it cannot read"

	leavesTheLastByte      flaw = "leaves out the last byte of an access"
	ignoresBounds          flaw = "says that an access outside the memory has succeeded"
	keysForEverybody       flaw = "lets every peer use every key"
	neverWithdraws         flaw = "lets memory be accessed that is withdrawn"
	keysOutliveConnections flaw = "lets keys be used after their connection has ended"
)

// caught lists the tests that must report a flaw. Others may report it, too.
var caught = []struct {
	flaw  flaw
	tests []string
}{
	{losesEager, []string{"OrderSmall", "EarlyManyTags", "OrderSendsFirst", "OrderAlternating", "ConnectManyQueued",
		"GoroutinesEachAContext", "GoroutinesOneContext", "GoroutinesOnBothSides", "GoroutinesOpenAndClose",
		"ContextsManyAtOnce", "ContextReopened", "BlockingSendRecv", "ProgressReceiverAway", "ProgressSenderAway",
		"ForkEcho", "ForkKilled", "ForkRestarted", "RandomOperations"}},
	{losesLarge, []string{"LargeManyAtOnce", "OrderMixedSizes", "HandlerPostsReceive", "CancelDuringTransfer",
		"CloseWhileBusy",
		"ForkEcho", "RandomOperations"}},
	{losesEmpty, []string{"ZeroLength", "RandomOperations"}},
	{losesUnexpected, []string{"OrderUnexpected", "UnexpectedFlood", "GoroutinesTakeUnexpected", "ConnectOnDemand",
		"HandlerPassesFlood", "HandlerTakesQueued", "ListUnexpected", "RandomOperations"}},
	{repeatsMessage, []string{"OrderSmall", "OrderReceivesFirst", "RandomOperations"}},
	{repeatsUnexpected, []string{"OrderUnexpected", "CancelHeldUnexpected", "RandomEndings", "HandlerAndQueue", "RandomOperations"}},
	{completesTwice, []string{"ImmediateOrOnce", "SleepEnds", "RestartUnnoticed", "CrashDuringTransfer", "OpIDs", "RandomOperations"}},
	{delaysUnexpected, []string{"OrderUnexpected", "UnexpectedFlood"}},
	{earlyNewestFirst, []string{"EarlyFromManyPeers", "RandomOperations"}},
	{matchesNewest, []string{"OrderReceivesFirst", "OrderBursts", "ContextsShareMatching", "CancelOneOfMany", "RandomOperations"}},
	{matchesAnyPeer, []string{"MatchPeers", "ConnectAllToAll", "RandomOperations"}},
	{matchesLowTag, []string{"MatchEveryBitOfTheTag"}},
	{corruptsLarge, []string{"LargeManyAtOnce", "LargeAlloc", "SizesAroundEdges", "RandomOperations"}},
	{skipsAfterEmpty, []string{"ListSplits", "ListAgainstOnePiece", "ListRandomSplits", "RandomOperations"}},
	{spillsOver, []string{"RoomToSpare"}},
	{ignoresTruncation, []string{"Truncated", "TruncatedList", "TruncatedByOne", "TruncatedEarly", "RandomOperations"}},
	{forgetsLength, []string{"Truncated", "BlockingTruncated", "RandomOperations"}},
	{truncationSpreads, []string{"Truncated", "RandomOperations"}},
	{keepsRest, []string{"Truncated", "RandomOperations"}},
	{readsLate, []string{"ImmediateLeavesNothing", "Early"}},
	{writesWhenClosed, []string{"SendRecv", "Large", "LargeFirst"}},
	{ignoresCancel, []string{"CancelUnmatchedReceive", "CancelTwice", "CancelManyReceives", "BlockingCancel", "RandomCancels"}},
	{cancelEats, []string{"CancelUnmatchedReceive", "ContextClose", "BlockingCancel"}},
	{dropsNothing, []string{"DropAddr"}},
	{dropKeepsEarly, []string{"DropAddrDiscardsEarly"}},
	{forgetsOneOp, []string{"FileCrash", "DropAddr", "CloseTellsPeers", "CrashCompletesEverything"}},
	{leavesSilently, []string{"CloseTellsPeers", "RestartAfterClose", "DropAddrTellsPeer", "SleepWhileDropping"}},
	{staleName, []string{"RestartAfterClose", "RestartManyTimes"}},
	{namesCollide, []string{"NameTaken"}},
	{waitsForNobody, []string{"PeerNotThere", "BlockingUnreachable"}},
	{dropsRefused, []string{"UnexpectedFlood", "UnexpectedFloodBytes", "UnexpectedFloodOfMany"}},
	{holdsUpAll, []string{"UnexpectedFlood"}},
	{forgetsClass, []string{"UnexpectedClasses", "HandlerAndQueue"}},
	{wrongSender, []string{"Unexpected", "Handler"}},
	{freshAddresses, []string{"Unexpected", "Handler"}},
	{liesAboutPieces, []string{"ListOfManyPieces"}},
	{sharesMemory, []string{"Alloc"}},
	{everywhere, []string{"QueryAddrRange"}},
	{neverChecks, []string{"CheckAddr"}},
	{neverCounts, []string{"Counters"}},
	{keepsForEver, []string{"RandomOperations"}},
	{oversleeps, []string{"SleepPingPong", "SleepInEveryCall", "SleepManyContexts"}},
	{leaksGoroutines, []string{"CloseLeavesNothing"}},
	{losesFromHandlers, []string{"HandlerAnswers", "BlockingCall", "ProgressHandlerAlone"}},
	{ignoresHandlersCancel, []string{"HandlerCancels"}},
	{ignoresCancelOfSends, []string{"FileCancel", "CancelUnmatchedSend", "CancelSparesOthers"}},
	{remembersAbsence, []string{"PeerComesLater", "CancelBeforeConnected"}},
	{failsEverybody, []string{"DropAddrSparesOthers", "CrashSparesOthers", "CloseTellsPeers"}},
	{overflows, []string{"EarlyFlood", "ProgressOneWay"}},
	{collides, []string{"ConnectSimultaneously", "OrderBothWays", "LargeBothWays"}},
	{discardsOnClose, []string{"CloseDrains"}},
	{corruptsSmall, []string{"TestTakesOneOp", "TestSomeTakesThose", "TestContextTakesAny", "Contexts", "CancelCompleted",
		"SendToItself", "ConnectOnly", "PendingLimit", "DropAddrUnused", "UnexpectedIsNotExpected", "MatchTags",
		"MatchAmongMany", "MaxExpectedSize", "MaxUnexpectedSize", "UnexpectedAnswer", "HandlerRemoved"}},
	{hidesItsAddress, []string{"Info"}},
	{takesAnyAddress, []string{"BadAddresses"}},
	{mumbles, []string{"Lookup"}},
	{misreadsFiles, []string{"FileSizes", "FileOrder", "FileShared", "RandomOperations"}},
	{makesFilesUp, []string{"FileEnd", "FileShrinks"}},
	{failsAtFileEnds, []string{"FileEnd"}},
	{hidesReadErrors, []string{"FileUnreadable"}},
	{neverHasFilesChecked, []string{"FileChecked"}},
	{checksHalf, []string{"FileChecked"}},
	{leavesTheLastByte, []string{"RemoteAccess"}},
	{ignoresBounds, []string{"RemoteBounds"}},
	{keysForEverybody, []string{"RemoteOwnKeys"}},
	{neverWithdraws, []string{"RemoteWithdrawn"}},
	{keysOutliveConnections, []string{"RemoteEndsWithConnection"}},
	{hangsInClose, []string{"CloseUnused", "CloseTwice", "CloseCompletesEverything", "SleepUntilClose"}},
}

// flawed returns the subject with a flaw.
func flawed(f flaw, timeout time.Duration) methodtest.Factory {
	return func(t methodtest.T) *methodtest.Subject {
		net := newFlawedNet(f)
		t.Cleanup(func() { close(net.over) })
		return subjectIn(net, timeout)
	}
}

func subjectIn(net *flawedNet, timeout time.Duration) *methodtest.Subject {
	s := &methodtest.Subject{
		Timeout: timeout,
		Address: func(name string) string { return flawedScheme + "://" + name },
		Open: func(ctx context.Context, cfg bmi.Config) (*bmi.Endpoint, error) {
			cfg.Options = map[string]any{flawedScheme: net}
			return bmi.Open(ctx, cfg)
		},
		Crash: func(t methodtest.T, e *bmi.Endpoint) {
			net.crash(e.Addresses()[0])
			t.Cleanup(func() { _ = e.Close() })
		},
	}
	s.Fork = forkServed(s)
	return s
}

// TestFlawlessPasses: without a flaw, the flawed method passes, so the reports
// below are due to the flaws.
func TestFlawlessPasses(t *testing.T) { methodtest.Run(t, flawed(none, 0)) }

// TestOneWayPasses: the suite accepts a method that does not recognise a
// connecting endpoint.
func TestOneWayPasses(t *testing.T) {
	methodtest.RunTests(t, methodtest.All.Brief(3, 4), func(methodtest.T) *methodtest.Subject {
		net := newFlawedNet(none)
		net.oneWay = true
		s := subjectIn(net, 0)
		s.OneWay = true
		return s
	})
}

// TestFlawsAreReported: the suite detects every planted bug.
func TestFlawsAreReported(t *testing.T) {
	for _, c := range caught {
		t.Run(string(c.flaw), func(t *testing.T) {
			t.Parallel() // nearly all of it is waiting for time-outs
			if race.Enabled && c.flaw == readsLate {
				t.Skip("the race detector is faster")
			}
			for _, name := range c.tests {
				test, ok := methodtest.All.Find(name)
				require.True(t, ok, "no test is called %s", name)
				r := record(test, flawed(c.flaw, 300*time.Millisecond))
				assert.Empty(t, r.Skipped(), "%s", name)
				assert.True(t, r.Failed(), "%s passes with a method that %s", name, c.flaw)
				if r.Failed() {
					assert.NotEmpty(t, r.Errors(), "%s says what is wrong", name)
				}
			}
		})
	}
}

// endpointsOwn are tests of what the endpoint does before it calls the method.
var endpointsOwn = map[string]bool{"WrongUse": true, "FileRefused": true}

// TestEveryTestCanFail: there is a planted bug for each test.
func TestEveryTestCanFail(t *testing.T) {
	fails := make(map[string]bool)
	for _, c := range caught {
		for _, name := range c.tests {
			fails[name] = true
		}
	}
	for _, test := range methodtest.All {
		assert.True(t, fails[test.Name] || endpointsOwn[test.Name], "no flaw makes %s fail", test.Name)
	}
}

// TestLateOpen: an endpoint that opens after the test has given up waiting is
// closed.
func TestLateOpen(t *testing.T) {
	release, opened := make(chan struct{}), make(chan *bmi.Endpoint, 1)
	test, _ := methodtest.All.Find("CloseUnused")
	r := record(test, func(methodtest.T) *methodtest.Subject {
		s := subjectIn(newFlawedNet(none), time.Millisecond)
		open := s.Open
		s.Open = func(_ context.Context, cfg bmi.Config) (*bmi.Endpoint, error) {
			<-release
			ep, err := open(context.Background(), cfg)
			opened <- ep
			return ep, err
		}
		return s
	})
	require.True(t, r.Failed())
	close(release)
	ep := <-opened
	require.Eventually(t, func() bool {
		_, err := ep.OpenContext()
		return errors.Is(err, bmi.ErrClosed)
	}, time.Minute, time.Millisecond)
}

// TestHangsAreBounded: a method that hangs costs a test its time-out, not the run.
func TestHangsAreBounded(t *testing.T) {
	test, _ := methodtest.All.Find("CancelUnmatchedReceive")
	start := time.Now()
	r := record(test, flawed(ignoresCancel, 200*time.Millisecond))
	require.True(t, r.Failed())
	wallclock.Under(t, time.Since(start), 10*time.Second, "a test that fails")
	require.True(t, slices.ContainsFunc(r.Errors(), func(e string) bool { return len(e) > 0 }))
}
