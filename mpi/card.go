package mpi

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/viaduct-hpc/viaduct/mpi/boot"
	"github.com/viaduct-hpc/viaduct/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// Before they can send messages, the processes of a job exchange their addresses through the
// launcher. First each tells its host, because the addresses it listens on depend on that; then
// they exchange their cards. A launcher limits the length of its values, so texts travel in pieces.
// That of rank 3 is under "mpi-card-3", which begins with the number of pieces and a colon, then
// "mpi-card-3-1" and so on.
const (
	hostKey = "mpi-host-"
	cardKey = "mpi-card-"
)

// textBytesMax limits the text that a process publishes, and so the text that others read.
const textBytesMax = 8 << 10

// piecesPrefixMax is the largest size of the number of pieces with its colon.
const piecesPrefixMax = len("8192:")

// tell publishes a text under a key of this process.
func tell(ctx context.Context, b boot.Boot, key, text string) error {
	key += strconv.Itoa(b.Rank())
	room := b.ValueMax() - piecesPrefixMax
	if room < 1 {
		return errclass.New(errclass.Other, "the launcher takes values of %d bytes, which is too little", b.ValueMax())
	}
	if len(text) > textBytesMax {
		return errclass.New(errclass.Other, "this process has %d bytes to tell of itself, at most %d are allowed: have it listen by fewer methods", len(text), textBytesMax)
	}
	n := max(1, (len(text)+room-1)/room)
	for i := range n {
		piece := text[min(i*room, len(text)):min((i+1)*room, len(text))]
		name := key
		if i == 0 {
			piece = fmt.Sprintf("%d:%s", n, piece)
		} else {
			name += "-" + strconv.Itoa(i)
		}
		if err := b.Put(ctx, name, piece); err != nil {
			return errclass.Wrap(errclass.Other, err, "telling the launcher where this process is")
		}
	}
	return nil
}

// learn reads the text that another process published.
func learn(ctx context.Context, b boot.Boot, key string, rank int) (string, error) {
	key += strconv.Itoa(rank)
	first, err := b.Get(ctx, key)
	if err != nil {
		return "", errclass.Wrap(errclass.Other, err, "asking the launcher where rank %d is", rank)
	}
	number, text, ok := strings.Cut(first, ":")
	n, err := strconv.Atoi(number)
	if !ok || err != nil || n < 1 || n > textBytesMax {
		return "", errclass.New(errclass.Other, "what rank %d told of itself, %.40q, does not begin with its number of pieces: run the same release everywhere", rank, first)
	}
	for i := 1; i < n; i++ {
		piece, err := b.Get(ctx, key+"-"+strconv.Itoa(i))
		if err != nil {
			return "", errclass.Wrap(errclass.Other, err, "asking the launcher where rank %d is", rank)
		}
		if text += piece; len(text) > textBytesMax {
			return "", errclass.New(errclass.Other, "rank %d told more than %d bytes of itself", rank, textBytesMax)
		}
	}
	return text, nil
}

// exchange publishes a text, and returns the texts of all processes, by rank.
func exchange(ctx context.Context, b boot.Boot, key, text string) ([]string, error) {
	if err := tell(ctx, b, key, text); err != nil {
		return nil, err
	}
	if err := b.Fence(ctx); err != nil {
		return nil, errclass.Wrap(errclass.Other, err, "waiting until all processes of the job have started")
	}
	texts := make([]string, b.Size())
	for rank := range texts {
		if rank == b.Rank() {
			texts[rank] = text
			continue
		}
		var err error
		if texts[rank], err = learn(ctx, b, key, rank); err != nil {
			return nil, err
		}
	}
	return texts, nil
}

// exchangeHosts returns whether all processes of the job are on this host.
func exchangeHosts(ctx context.Context, b boot.Boot, host string) (one bool, err error) {
	if b.Size() == 1 {
		return true, nil
	}
	hosts, err := exchange(ctx, b, hostKey, digest(host)) // a digest is valid text for every launcher
	if err != nil {
		return false, err
	}
	for _, other := range hosts {
		if other != digest(host) {
			return false, nil
		}
	}
	return true, nil
}

// exchangeCards publishes this process's card, and returns all cards, by rank.
func exchangeCards(ctx context.Context, b boot.Boot, self core.Card) ([]core.Card, error) {
	if b.Size() == 1 {
		return []core.Card{self}, nil
	}
	texts, err := exchange(ctx, b, cardKey, self.Encode())
	if err != nil {
		return nil, err
	}
	cards := make([]core.Card, len(texts))
	for rank, text := range texts {
		if cards[rank], err = core.ParseCard(text); err != nil {
			return nil, errclass.Wrap(errclass.Other, err, "the card of rank %d", rank)
		}
	}
	return cards, nil
}

// newID returns an id that is unique among the processes of all jobs.
func newID() (id core.ProcID) {
	_, _ = rand.Read(id[:]) // never fails, according to its documentation
	return id
}

// listenName returns a name to listen on that no other process has. It shows people which job and
// rank it belongs to.
func listenName(jobID string, rank int, id core.ProcID) string {
	return fmt.Sprintf("mpi-%s-%d-%s", digest(jobID)[:8], rank, hex.EncodeToString(id[:4]))
}

// digest returns a short hash of a text.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}
