package mpi

import "github.com/viaduct-hpc/viaduct/mpi/core"

// EngineOf returns the engine of a process.
func EngineOf(p *Process) *core.Engine { return p.engine }
