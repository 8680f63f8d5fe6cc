package rooms

const limit = 10

type listener interface{ Told() }

type room[T any] struct {
	name string
	item T
}

func (r room[T]) tell(l listener) { l.Told() }

func (r room[T]) whole() string {
	r.Told()
	return middle(r.name)
}
