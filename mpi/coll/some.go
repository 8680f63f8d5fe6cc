package coll

// Pieces without bytes are not sent: both sides know their length.

func sendSome(c Comm, to int, b []byte) error {
	if len(b) == 0 {
		return nil
	}
	return c.Send(to, b)
}

func recvSome(c Comm, from int, b []byte) error {
	if len(b) == 0 {
		return nil
	}
	return c.Recv(from, b)
}

func exchangeSome(c Comm, to int, out []byte, from int, in []byte) error {
	switch {
	case len(in) == 0:
		return sendSome(c, to, out)
	case len(out) == 0:
		return recvSome(c, from, in)
	}
	return c.Exchange(to, out, from, in)
}
