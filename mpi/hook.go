package mpi

// A Hook is called around every call of a process that communicates or that may fail: the
// profiling interface (MPI-4.1, 15.2). Enter and Leave are called by whoever calls, so
// several goroutines may be in them at once; Leave gets the Call that Enter got. Neither may
// keep it. A hook may use its own communicators, of another Process.
type Hook interface {
	Enter(call *Call)
	Leave(call *Call, err error)
}

// A Call is a call as a Hook sees it.
type Call struct {
	Name  string // as the standard has it: "MPI_Send"
	Comm  *Comm  // nil if the call has none, or was given none
	Peer  int    // rank of the other side, or the root; Undefined if there is none
	Tag   int    // Undefined if there is none
	Bytes int    // of the memory that the caller gave; 0 if there is none
	// Data is the hook's own between Enter and Leave.
	Data any
}

// hooked tells whether somebody wants to see the calls on c.
func (c *Comm) hooked() bool { return c != nil && c.p.hook != nil }

// enter shows a call to the hook. It returns nil if there is none, or no communicator.
func (c *Comm) enter(call Call) *Call {
	if !c.hooked() {
		return nil
	}
	entered := new(Call) // not the argument itself, which then need not be on the heap
	*entered = call
	c.p.hook.Enter(entered)
	return entered
}

// leave is the end of a call on c: its error goes to the error handler, and then everything
// to the hook, if enter did.
func (c *Comm) leave(call *Call, err error) error {
	if err != nil {
		err = c.fail(err)
	}
	if call != nil {
		c.p.hook.Leave(call, err)
	}
	return err
}

// call is what calls that nobody repeats a million times a second are wrapped with:
//
//	defer c.call("MPI_Comm_dup", &err)()
func (c *Comm) call(name string, err *error) (leave func()) {
	return c.callWith(Call{Name: name, Comm: c, Peer: Undefined, Tag: Undefined}, err)
}

// callWith is call for those that have more to tell.
func (c *Comm) callWith(call Call, err *error) (leave func()) {
	entered := c.enter(call)
	return func() { *err = c.leave(entered, *err) }
}

// call is Comm.call for calls without a communicator: their errors go to the handler of
// Process.Self (MPI-4.1, 9.3).
func (p *Process) call(name string, err *error) (leave func()) {
	return p.self.callWith(Call{Name: name, Peer: Undefined, Tag: Undefined}, err)
}
