// Package host is the method that a program sees in place of one that runs in another
// process: it says what is posted into one ring and hears from another how that ended
// and what arrived (plugins/guest is the other side).
//
// Small messages travel in the rings. Larger ones lie in the arena that both processes
// see: where Alloc put them, or else in a copy that this side makes. What there is no room
// for waits in order, sends and receives apart (lane.go): programs that post their sends
// first would wait for each other otherwise. For the same reason copies of sends lie in the
// lower half of the arena and those of receives in the upper one, which is why no message
// may be longer than a half (Config.Info). Memory from Alloc takes from both. When it leaves
// no room in a half that no operation uses, copies of either lie anywhere.
//
// method.go is the method, op.go its operations, lane.go those that wait, send.go what the
// plugin is asked for, hear.go what it says, peers.go the remote endpoints, wait.go what there is to do while there
// is no plugin. The plugin is not trusted: what it
// says is checked, each operation ends once, and a plugin that breaks the rules is reported
// to whoever runs it (Config.Broken), who ends it with Detach.
package host
