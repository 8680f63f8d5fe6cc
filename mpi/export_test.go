package mpi

import "github.com/viaduct-hpc/viaduct/internal/mpi/core"

// EngineOf returns the engine of a process.
func EngineOf(p *Process) *core.Engine { return p.engine }

// TuningOf returns the text of the table that c's next collective operation uses; "" for none.
func TuningOf(c *Comm) string {
	c.hosts()
	if t := c.parts.machine.tuning.Load(); t != nil {
		return t.String()
	}
	return ""
}

// Launched tells whether a goroutine runs the operation of r.
func Launched(r Request) bool {
	t := r.from.task.Load()
	return t != nil && t.launched.Load()
}

// UnderWay returns how many operations keep a communicator open.
func UnderWay(c *Comm) int {
	c.parts.mu.Lock()
	defer c.parts.mu.Unlock()
	return c.parts.underWay
}

// SendPlan sends the plan of a partitioned message, as another build might.
func SendPlan(c *Comm, b []byte, dst, tag int) error {
	return c.coll.SendBytes(core.Standard, b, dst, tagPlan|tag)
}

// SendChunk sends a chunk of a partitioned message.
func SendChunk(c *Comm, b []byte, dst, number, chunk int) error {
	return c.coll.SendBytes(core.Standard, b, dst, division{number: number}.tag(chunk))
}
