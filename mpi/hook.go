package mpi

// A Hook is called around every call of a process that communicates or may fail: the profiling
// interface (MPI-4.1, 15.2). Enter and Leave run in the goroutine of the caller, so several may run
// at once. Leave gets the Call that Enter got, and neither may keep it. A hook may communicate only
// on communicators of another Process. Calls on files and windows are calls of mpi/file and mpi/rma;
// what those packages call themselves is not shown.
type Hook interface {
	Enter(call *Call)
	Leave(call *Call, err error)
}

// A Call describes a call to a Hook.
type Call struct {
	Name  string // the standard's name, such as "MPI_Send"
	Comm  *Comm  // nil if the call has none, or was passed nil
	Peer  int    // rank of the other side, or the root; Undefined if there is none
	Tag   int    // Undefined if there is none
	Bytes int    // of the caller's memory; 0 if there is none
	// Data belongs to the hook between Enter and Leave.
	Data any
}

// hooked tells whether a hook sees the calls on c.
func (c *Comm) hooked() bool { return c != nil && c.p.hook != nil && !c.hidden }

// enter shows a call to the hook. It returns nil if there is no hook or no communicator.
func (c *Comm) enter(call Call) *Call {
	if !c.hooked() {
		return nil
	}
	entered := new(Call) // only this copy is on the heap, not the argument
	*entered = call
	c.p.hook.Enter(entered)
	return entered
}

// enterIf is enter for a message; it costs nothing if there is no hook.
func (c *Comm) enterIf(name string, peer, tag int, b *Buffer) *Call {
	if !c.hooked() {
		return nil
	}
	return c.enter(Call{Name: name, Comm: c, Peer: peer, Tag: tag, Bytes: b.size()})
}

// leave ends a call on c: it passes the error to the error handler, and then the call to the hook
// if enter did.
func (c *Comm) leave(call *Call, err error) error {
	if err != nil {
		err = c.fail(err)
	}
	if call != nil {
		c.p.hook.Leave(call, err)
	}
	return err
}

// seen ends a call that returns a Request. The request passes an error to the error handler, when it
// is waited for.
func (c *Comm) seen(call *Call, err error) {
	if call != nil {
		c.p.hook.Leave(call, err)
	}
}

// call wraps calls that are not performance-critical:
//
//	defer c.call("MPI_Comm_dup", &err)()
func (c *Comm) call(name string, err *error) (leave func()) {
	return c.callWith(Call{Name: name, Comm: c, Peer: Undefined, Tag: Undefined}, err)
}

// callWith is call with more details.
func (c *Comm) callWith(call Call, err *error) (leave func()) {
	entered := c.enter(call)
	return func() { *err = c.leave(entered, *err) }
}

// call is Comm.call for calls without a communicator. Their errors go to the handler of
// Process.Self (MPI-4.1, 9.3).
func (p *Process) call(name string, err *error) (leave func()) {
	return p.self.callWith(Call{Name: name, Peer: Undefined, Tag: Undefined}, err)
}
