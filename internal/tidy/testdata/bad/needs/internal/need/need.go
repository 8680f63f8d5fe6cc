// Package need is like the real one.
package need

import "testing"

func Program(t testing.TB, name string) string { t.Skip(name); return "" }
