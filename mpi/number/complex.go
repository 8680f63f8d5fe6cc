package number

// An Arithmetic is a number that can be added and multiplied.
type Arithmetic[T any] interface {
	Add(y T) T
	Mul(y T) T
}

// An Ordered is a type of numbers with an order, except for NaN.
type Ordered[T any] interface {
	Arithmetic[T]
	Less(y T) bool
	Equal(y T) bool
	IsNaN() bool
}

// A Real is a floating-point number.
type Real[T any] interface {
	Ordered[T]
	Sub(y T) T
}

// A Complex is a complex number, such as C's long double _Complex (MPI_C_LONG_DOUBLE_COMPLEX).
type Complex[T Real[T]] struct{ Re, Im T }

// Add returns x + y.
func (x Complex[T]) Add(y Complex[T]) Complex[T] { return Complex[T]{x.Re.Add(y.Re), x.Im.Add(y.Im)} }

// Mul returns x × y. Each of the four products is rounded, as for Go's complex numbers.
func (x Complex[T]) Mul(y Complex[T]) Complex[T] {
	return Complex[T]{x.Re.Mul(y.Re).Sub(x.Im.Mul(y.Im)), x.Re.Mul(y.Im).Add(x.Im.Mul(y.Re))}
}
