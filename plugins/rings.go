package plugins

// Rings tells whether messages reach the plugin through rings in shared memory. If not, they travel
// over gRPC: the plugin does not support rings, or Options.NoRings is set.
func (p *Plugin) Rings() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.in.rings
}
