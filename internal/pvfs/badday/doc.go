// Package badday tests failures of file servers: processes are killed while they work, disks are full, read-only, damaged or
// another server's, and clients send hostile messages. It has tests only. Package internal/pvfs/server tests millions of mutated requests.
//
// TestKill and TestDurable kill real pvfsd processes. TestRestart stops and restarts servers in this process and compares them
// with the oracle of package fstest. TestHostileRequests, TestFlows and TestSilentConnections are hostile clients. To run more of
// some:
//
//	go test ./internal/pvfs/badday -run Kill -timeout 1h      with VIADUCT_KILLS=1000
//	go test ./internal/pvfs/badday -run Restart -sim.seeds 3000
//	go test ./internal/pvfs/badday -run 'Full|ReadOnly|Damaged|Wrong' -sim.seeds 500
package badday
