package core

import "context"

// Until makes progress until done returns true, which it asks after everything that happens to a
// Request. It fails if ctx ends first, or if the endpoint was closed.
func (e *Engine) Until(ctx context.Context, done func() bool) error { return e.await(ctx, done) }

// Notify makes Until ask again, after something that did not happen to a Request.
func (e *Engine) Notify() { e.ctx.Notify() }
