package pvfsd

import (
	"fmt"
	"strings"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/cli/program"
)

// openToUsers returns the options for methods whose addresses normally serve one user only. With these options, all users of the
// machine may connect.
func openToUsers(addresses []string) (map[string]any, error) {
	options := make(map[string]any)
	for _, d := range bmi.Drivers() {
		opener, ok := d.(bmi.UserOpener)
		if !ok || !hasMethod(addresses, d.Name()) {
			continue
		}
		opts, err := opener.WithOtherUsers(nil)
		if err != nil {
			return nil, fmt.Errorf("--other-users: %w", err)
		}
		options[d.Name()] = opts
	}
	if len(options) == 0 {
		return nil, program.Usagef("--other-users is for addresses that only processes of one user can reach, such as via+shm://NAME; this server has %s",
			strings.Join(addresses, ", "))
	}
	return options, nil
}

func hasMethod(addresses []string, method string) bool {
	for _, a := range addresses {
		if strings.HasPrefix(a, method+"://") {
			return true
		}
	}
	return false
}
