// Package rooms has references of every kind.
package rooms

import "strings"

// Top uses what is below it.
func Top() string {
	r := room[int]{name: middle("x")}
	r.tell(r)
	return strings.ToUpper(r.name)
}

func (r room[T]) Told() {}
