package secure

import "fmt"

// Clients are the public keys of the endpoints that may connect.
type Clients struct {
	names map[PublicKey]string
}

// ParseClients reads lines of a name and a public key. A name may have several keys, for example one
// on each of its machines; a key has one name.
func ParseClients(text []byte) (*Clients, error) {
	c := &Clients{names: make(map[PublicKey]string)}
	err := keyLines(string(text), "a NAME", func(name string, key PublicKey) error {
		if err := CheckName(name); err != nil {
			return err
		}
		if other, ok := c.names[key]; ok && other != name {
			return fmt.Errorf("%s and %s have the same key; make one for each: bmi genkey NAME", other, name)
		}
		c.names[key] = name
		return nil
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Name is the name of the endpoint with a key; "" if there is none.
func (c *Clients) Name(key PublicKey) string {
	if c == nil {
		return ""
	}
	return c.names[key]
}

// Has reports whether a name has a key.
func (c *Clients) Has(name string) bool {
	for _, other := range c.names {
		if other == name {
			return true
		}
	}
	return false
}
