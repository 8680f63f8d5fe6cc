package core

import (
	"encoding/hex"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// A ProcID identifies a process among those of all jobs. Its first 12 bytes are a random number, and
// all of it may be.
type ProcID [16]byte

// String is the id in hexadecimal.
func (id ProcID) String() string { return hex.EncodeToString(id[:]) }

// A Card is the description of a process that other processes have.
type Card struct {
	ID        ProcID
	Host      string   // processes with the same text share memory
	Addresses []string // on which its endpoint listens
}

// cardBytesMax limits the text of a card.
const cardBytesMax = 4096

// addressesMax limits the addresses of a card, because all of them may have to be tried.
const addressesMax = 64

// Encode returns the card as text without blanks, '=' or ';', which every launcher can carry.
func (c Card) Encode() string {
	parts := []string{c.ID.String(), escape(c.Host)}
	for _, a := range c.Addresses {
		parts = append(parts, escape(a))
	}
	return strings.Join(parts, ",")
}

// escape writes text with letters, digits and a few signs that are safe in every launcher.
func escape(s string) string {
	s = url.QueryEscape(s)
	return strings.ReplaceAll(s, "%", "!")
}

func unescape(s string) (string, error) { return url.QueryUnescape(strings.ReplaceAll(s, "!", "%")) }

// ParseCard reads the text that Encode wrote. The text comes from another process. Each card has
// only one text, which Encode reproduces.
func ParseCard(text string) (Card, error) {
	if len(text) > cardBytesMax {
		return Card{}, errclass.New(errclass.Other, "a process's card of %d bytes, at most %d are allowed", len(text), cardBytesMax)
	}
	parts := strings.Split(text, ",")
	if len(parts) < 2 {
		return Card{}, errclass.New(errclass.Other, "a process's card needs an id and a host, this is %q", text)
	}
	if n := len(parts) - 2; n > addressesMax {
		return Card{}, errclass.New(errclass.Other, "a process's card with %d addresses, at most %d are allowed", n, addressesMax)
	}
	var c Card
	if n, err := hex.Decode(c.ID[:], []byte(parts[0][:min(len(parts[0]), 2*len(c.ID))])); err != nil || n != len(c.ID) || len(parts[0]) != 2*n {
		return Card{}, errclass.New(errclass.Other, "a process's card begins with %q, which is no id", parts[0])
	}
	for i, part := range parts[1:] {
		s, err := unescape(part)
		if err != nil {
			return Card{}, errclass.Wrap(errclass.Other, err, "a process's card has %q in it", part)
		}
		if !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
			return Card{}, errclass.New(errclass.Other, "a process's card has %q in it, which cannot be shown", s)
		}
		if i == 0 {
			c.Host = s
		} else {
			c.Addresses = append(c.Addresses, s)
		}
	}
	if again := c.Encode(); again != text {
		return Card{}, errclass.New(errclass.Other, "a process's card reads %.80q, which is another way to write %.80q", text, again)
	}
	return c, nil
}
