package gate

import (
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/sim/gate"
)

func TestGateSaysWhatAHoldingCheckFinds(t *testing.T) {
	part := 0.0571
	require.Equal(t, "(finds 5.7 %)", findsText(&gate.Finding{Numbers: []gate.Quantity{{Name: "gain"}, {Name: "detectable", Value: &part}}}))
	require.Empty(t, findsText(&gate.Finding{Numbers: []gate.Quantity{{Name: "gain", Value: &part}}}))
}
