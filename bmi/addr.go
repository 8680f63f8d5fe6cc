package bmi

// Addr names a remote endpoint. It is small, comparable and valid until it is
// dropped or its endpoint closes. The zero Addr names nobody.
type Addr struct{ e *addrEntry }

type addrEntry struct{ text string }

// IsZero tells whether a names nobody.
func (a Addr) IsZero() bool { return a.e == nil }

// String is the address as text, in a form that Lookup takes if the remote
// endpoint can be connected to; "" for the zero Addr.
func (a Addr) String() string {
	if a.e == nil {
		return ""
	}
	return a.e.text
}
