package metric

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNumbersThatAreNoneAreNull(t *testing.T) {
	half := 0.5
	list := append(Numbers(1, math.Inf(1), math.Inf(-1)), NumberOf(&half), NumberOf(nil), Undefined)
	b, err := json.Marshal(list)
	require.NoError(t, err)
	require.Equal(t, "[1,null,null,0.5,null,null]", string(b))
	var back []Number
	require.NoError(t, json.Unmarshal(b, &back))
	for i := range list {
		require.Equal(t, list[i].Defined(), back[i].Defined())
	}
	require.Error(t, json.Unmarshal([]byte(`["1"]`), &back))
}
