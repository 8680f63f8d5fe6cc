// Package host is the method that a program sees in place of one that runs in another process. It
// writes the program's operations into one ring and reads from another how they ended and which
// messages arrived (internal/plugins/guest is the other side).
//
// Small messages travel in the rings. Larger ones lie in the arena, which both processes see: where
// Alloc put them, or in a copy that this side makes. Operations for which there is no room wait in
// order, sends and receives apart (lane.go): otherwise programs that post their sends first would
// wait for each other. For the same reason copies of sends lie in the lower half of the arena and
// those of receives in the upper one, so no message may be longer than a half (Config.Info). Memory
// from Alloc is in both. If it leaves no room in a half in which no operation has a copy, copies
// may lie anywhere.
//
// method.go is the method, op.go its operations, lane.go the waiting ones, send.go writes records,
// read.go reads them, peers.go has the remote endpoints, and wait.go is for times without a plugin.
// The plugin is not trusted: its records are checked, and each operation ends once. If a plugin
// breaks the rules, Config.Broken is called, and its owner ends it and calls Detach.
package host
