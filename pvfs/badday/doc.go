// Package badday has the tests of what goes wrong around file servers: they are killed in the midst of
// their work, their disks are full, read-only, damaged or another server's, and what clients send is meant to
// hurt. It has no code but tests. Mutated requests, by the million, are in pvfs/server.
//
// TestKill and TestDurable kill real pvfsd processes. TestRestart compares with the oracle of package fstest while
// servers in this process go away and come back. TestHostileRequests, TestFlows and
// TestSilentConnections are the clients. More of some:
//
//	go test ./pvfs/badday -run Kill -timeout 1h      with VIADUCT_KILLS=1000
//	go test ./pvfs/badday -run Restart -sim.seeds 3000
//	go test ./pvfs/badday -run 'Full|ReadOnly|Damaged|Wrong' -sim.seeds 500
package badday
