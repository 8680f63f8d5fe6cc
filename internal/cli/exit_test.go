package cli

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// The form of an address is shown if the address was mistyped, not if it is on another
// machine.
func TestAddressFormsAreShownWhereTheyHelp(t *testing.T) {
	wrong := fmt.Errorf("%w: port %q is no number", bmi.ErrBadAddress, "x")
	assert.Contains(t, explain(wrong), "an address looks like")
	elsewhere := fmt.Errorf("%w: 192.0.2.1:7000: not an address of this machine", bmi.ErrBadAddress)
	assert.Equal(t, elsewhere.Error(), explain(elsewhere))
}
