package core

import "context"

// Until makes progress until done returns true. It calls done after every change of a Request. It
// fails if ctx ends first, or if the endpoint was closed.
func (e *Engine) Until(ctx context.Context, done func() bool) error { return e.await(ctx, done) }

// Notify makes Until call done again, after a change of something else than a Request.
func (e *Engine) Notify() { e.ctx.Notify() }
