package stock

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// listening looks for a socket in state LISTEN (0A) in the kernel's table of IPv4 sockets. The second column is ADDRESS:PORT in
// hex, the fourth the state. A probing connection would count as a client at the server.
func listening(port int) (bool, error) {
	table, err := os.ReadFile("/proc/net/tcp")
	if errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("this needs Linux: %w", err)
	} else if err != nil {
		return false, err
	}
	want := fmt.Sprintf(":%04X", port)
	for line := range strings.Lines(string(table)) {
		if f := strings.Fields(line); len(f) > 3 && strings.HasSuffix(f[1], want) && f[3] == "0A" {
			return true, nil
		}
	}
	return false, nil
}
