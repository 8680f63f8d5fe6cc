package rma

// For tests of the external package.

// A Reacher is a reacher.
type Reacher = reacher

// HookReacher changes what operations on exposed memory use, until the function that it returns is
// called.
func HookReacher(hook func(Reacher) Reacher) (restore func()) {
	hookReacher = hook
	return func() { hookReacher = nil }
}

// Known returns how many stretches of a rank's memory are exposed to this process.
func Known(w *Win, rank int) int {
	if known := w.peers[rank].reach.known.Load(); known != nil {
		return len(*known)
	}
	return 0
}

// Exposed returns how many stretches this process exposes to a rank.
func Exposed(w *Win, rank int) int {
	w.server.mu.Lock()
	defer w.server.mu.Unlock()
	return len(w.server.exposed[rank])
}

// Pending returns how many operations at a rank are not complete, and how many of them use memory of this
// process.
func Pending(w *Win, rank int) (pending, using int) {
	p := &w.peers[rank]
	return int(p.pending.Load()), int(p.using.Load())
}

// HoldServer keeps a dynamic window from serving calls, until the function that it returns is called.
func HoldServer(w *Win) (resume func()) {
	w.server.mu.Lock()
	return w.server.mu.Unlock
}
