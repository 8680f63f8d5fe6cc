package tcp

import "github.com/viaduct-hpc/viaduct/internal/tcp/stack"

// Reload reads keys and certificates again (bmi.Reloader).
func (m *method) Reload() (reloaded bool, err error) {
	s, ok := m.stack.(stack.Reloader)
	if !ok {
		return false, nil
	}
	err = s.Reload()
	return err == nil, err
}
