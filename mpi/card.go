package mpi

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/boot"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// A process needs the card of another one before it can send messages to it. All cards follow from
// what rank 0 publishes, or each process publishes its own card with the launcher; the others ask for
// it at once or when they need it (place.go). A launcher limits the length of its values, so a text is
// published in pieces. The first piece of rank 3 has the key "mpi-card-3" and begins with the number of
// pieces and a colon. The next one has the key "mpi-card-3-1", and so on.
const cardKey = "mpi-card-"

// textBytesMax limits the text that a process publishes.
const textBytesMax = 8 << 10

// piecesPrefixMax is the largest size of the number of pieces with its colon.
const piecesPrefixMax = len("8192:")

// tell publishes a text under a key of this process.
func tell(ctx context.Context, b boot.Boot, key, text string) error {
	if len(text) > textBytesMax {
		return errclass.New(errclass.Other, "this process describes itself in %d bytes, more than the %d that are allowed: listen on fewer methods", len(text), textBytesMax)
	}
	return tellPieces(ctx, b, key, text)
}

// tellPieces is tell for a text of any length.
func tellPieces(ctx context.Context, b boot.Boot, key, text string) error {
	key += strconv.Itoa(b.Rank())
	room := b.ValueMax() - piecesPrefixMax
	if room < 1 {
		return errclass.New(errclass.Other, "the launcher takes values of %d bytes, which is too little", b.ValueMax())
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
	return learnPieces(ctx, b, key, rank, textBytesMax)
}

// learnPieces is learn of a text of at most most bytes.
func learnPieces(ctx context.Context, b boot.Boot, key string, rank, most int) (string, error) {
	key += strconv.Itoa(rank)
	first, err := b.Get(ctx, key)
	if err != nil {
		return "", errclass.Wrap(errclass.Other, err, "asking the launcher where rank %d is", rank)
	}
	number, text, ok := strings.Cut(first, ":")
	n, err := strconv.Atoi(number)
	if !ok || err != nil || n < 1 || n > most {
		return "", errclass.New(errclass.Other, "what rank %d told of itself, %.40q, does not begin with its number of pieces: run the same release everywhere", rank, first)
	}
	for i := 1; i < n; i++ {
		piece, err := b.Get(ctx, key+"-"+strconv.Itoa(i))
		if err != nil {
			return "", errclass.Wrap(errclass.Other, err, "asking the launcher where rank %d is", rank)
		}
		if text += piece; len(text) > most {
			return "", errclass.New(errclass.Other, "rank %d told more than %d bytes of itself", rank, most)
		}
	}
	return text, nil
}

// fence waits until all processes of the job are in it.
func fence(ctx context.Context, b boot.Boot) error {
	if err := b.Fence(ctx); err != nil {
		return errclass.Wrap(errclass.Other, err, "waiting until all processes of the job have started")
	}
	return nil
}

// exchangeCards publishes this process's card, and returns all cards, by rank. So it asks the
// launcher once for each process.
func exchangeCards(ctx context.Context, b boot.Boot, self core.Card) ([]core.Card, error) {
	if err := publishCard(ctx, b, self); err != nil {
		return nil, err
	}
	cards := make([]core.Card, b.Size())
	for rank := range cards {
		if rank == b.Rank() {
			cards[rank] = self
			continue
		}
		var err error
		if cards[rank], err = learnCard(ctx, b, rank); err != nil {
			return nil, err
		}
	}
	return cards, nil
}

// publishCard publishes this process's card, and waits until all others have.
func publishCard(ctx context.Context, b boot.Boot, self core.Card) error {
	if err := tell(ctx, b, cardKey, self.Encode()); err != nil {
		return err
	}
	return fence(ctx, b)
}

// learnCard asks the launcher for the card of another process.
func learnCard(ctx context.Context, b boot.Boot, rank int) (core.Card, error) {
	text, err := learn(ctx, b, cardKey, rank)
	if err != nil {
		return core.Card{}, err
	}
	card, err := core.ParseCard(text)
	if err != nil {
		return core.Card{}, errclass.Wrap(errclass.Other, err, "the card of rank %d", rank)
	}
	return card, nil
}

// A jobNumber is a random number, the same in all processes of a job, and in those of no other.
type jobNumber [12]byte

func newJobNumber() (n jobNumber) {
	_, _ = rand.Read(n[:]) // never fails, according to its documentation
	return n
}

// id returns the id of a process of the job.
func (n jobNumber) id(rank int) (id core.ProcID) {
	binary.BigEndian.PutUint32(id[copy(id[:], n[:]):], uint32(rank))
	return id
}

// rank returns the rank of a process of the job, or -1 for any other process.
func (n jobNumber) rank(id core.ProcID) int {
	if !bytes.Equal(id[:len(n)], n[:]) {
		return -1
	}
	return int(binary.BigEndian.Uint32(id[len(n):]))
}

// listenNames are the names to listen on of the processes of a job. No other process has them. They
// show people which job and rank they belong to.
type listenNames struct{ before, after string }

func newListenNames(jobID string, n jobNumber) listenNames {
	return listenNames{"mpi-" + digest(jobID)[:8] + "-", "-" + hex.EncodeToString(n[:4])}
}

// of returns the name of a rank.
func (l listenNames) of(rank int) string { return l.before + strconv.Itoa(rank) + l.after }

// address returns the address of a rank that listens by name.
func (l listenNames) address(rank int) string {
	return methodShm + "://" + l.before + strconv.Itoa(rank) + l.after
}

// digest returns a short hash of a text.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}
