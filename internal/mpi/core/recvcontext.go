package core

import "context"

// RecvContext is Recv that ends with ctx's error when ctx ends. A message that is moving by then is
// received if it arrives within Limits.LateTimeMax, and lost otherwise. In any case buf belongs to
// the caller again, because messages reach it through staging memory.
func (s *Scope) RecvContext(ctx context.Context, buf Buffer, src, tag int) (Status, error) {
	if ctx.Done() == nil {
		return s.Recv(buf, src, tag)
	}
	bits, mask, p, err := s.checkRecv(&buf, src, tag)
	if err != nil {
		return Status{}, err
	}
	e := s.e
	e.mu.Lock()
	o := e.acquire(opRecv, s)
	o.fillRecv(p, bits, mask)
	o.fill(&buf)
	o.staged = true
	e.startRecv(o)
	r := Request{o, o.life}
	e.mu.Unlock()
	return r.waitOrAbandon(ctx)
}

// Recv receives the message and waits for it. The end of ctx has the effect that it has in
// Scope.RecvContext.
func (m *Message) Recv(ctx context.Context, buf Buffer) (Status, error) {
	staged := ctx.Done() != nil
	r, err := m.irecv(buf, staged)
	switch {
	case err != nil:
		return Status{}, err
	case !staged:
		return r.Wait(ctx)
	}
	return r.waitOrAbandon(ctx)
}

// waitOrAbandon waits for a staged receive. If ctx ends before it does, it waits a little longer if
// data is moving, and then gives the receive up.
func (r Request) waitOrAbandon(ctx context.Context) (Status, error) {
	o, e := r.op, r.op.e
	var err error
	if !r.ready() {
		if err = e.await(ctx, r.ready); err != nil && r.moving() {
			late, cancel := context.WithTimeout(context.Background(), e.Limits().LateTimeMax)
			_ = e.await(late, r.ready) // the caller gets the error of ctx
			cancel()
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if o.state == opDone {
		return r.collect()
	}
	o.abandon()
	return Empty, err
}

// moving tells whether the data of the message is moving.
func (r Request) moving() bool {
	r.op.e.mu.Lock()
	defer r.op.e.mu.Unlock()
	return r.op.at == atMove
}

// abandon ends an active staged receive for its caller. A transfer that has begun goes on unseen,
// so that the peer notices nothing.
func (o *op) abandon() {
	o.detached = true
	o.e.detached++
	if o.at == atMove {
		o.abandoned = true
		o.buf = Buffer{}
		return
	}
	o.cancelled()
}
