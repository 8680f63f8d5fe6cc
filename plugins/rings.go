package plugins

// Rings tells whether messages get to the plugin through rings in shared memory. If not,
// they travel over gRPC: the plugin has no rings, or Options.NoRings is set.
func (p *Plugin) Rings() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.in.rings
}
