package watch

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/scheduler/order"
)

// A queue order is either told from the log or named here, with the reason why it is not.
func TestEveryOrderIsToldOrNamed(t *testing.T) {
	untold := map[string]string{
		"unicef":    "it has a logarithm, which the invariants do not compute",
		"dirlab-f1": "likewise",
		"dirlab-f2": "likewise, and a root",
		"dirlab-f3": "likewise",
		"dirlab-f4": "likewise, and a root",
	}
	for _, name := range order.Names() {
		_, named := untold[name]
		require.NotEqual(t, named, OrderOf(name).known(), "%s: add it to OrderOf and compare, or here", name)
		delete(untold, name)
	}
	require.Empty(t, untold, "orders that there are not")
}
