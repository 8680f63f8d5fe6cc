package tcp

import "github.com/viaduct-hpc/viaduct/internal/tcp/stack"

// KeyFiles implements bmi.Reloader.
func (m *method) KeyFiles() []string {
	if s, ok := m.stack.(stack.Reloader); ok {
		return s.KeyFiles()
	}
	return nil
}

// Reload reads keys and certificates again (bmi.Reloader).
func (m *method) Reload() (use func(), err error) {
	if s, ok := m.stack.(stack.Reloader); ok {
		return s.Reload()
	}
	return nil, nil
}
