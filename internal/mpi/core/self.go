package core

// sendSelf sends to this process itself: without a packet, and with at most one copy.
func (e *Engine) sendSelf(o *op) {
	if r, _ := e.arrival(e.self, o.bits); r != nil {
		r.matched(o.bits, o.size)
		e.copySelf(r, o)
		r.complete()
		o.complete()
		return
	}
	m := e.newEarly(e.self, nil, o.bits, o.size)
	if o.mode != Synchronous && o.size <= e.cfg.Limits.EagerBytesMax && e.selfBytes+o.size+chargeBytes <= e.cfg.Limits.WindowBytes {
		m.data = e.pool.Take(o.size)[:o.size]
		o.buf.read(m.data, 0)
		e.selfBytes += o.size + chargeBytes
		e.keepEarly(m)
		o.complete()
		return
	}
	m.send, o.early = o, m
	o.at = atEarly
	o.enlist()
	e.keepEarly(m)
}

// receiveSelf matches a receive with a message that this process sent to itself.
func (e *Engine) receiveSelf(o *op, m *early) {
	if s := m.send; s != nil {
		s.unlist()
		e.copySelf(o, s)
		s.complete()
	} else {
		o.buf.write(0, m.data[:min(m.size, o.size)])
		e.selfBytes -= m.size + chargeBytes
	}
	o.complete()
	e.freeEarly(m)
}

func (e *Engine) copySelf(r, s *op) {
	copyBuffers(&r.buf, &s.buf, min(r.size, s.size), e.cfg.Limits.StagingBytes)
}
