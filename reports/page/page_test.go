package page

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSoftBreaksStayTexts(t *testing.T) {
	require.EqualValues(t, "wait_<wbr>max &lt;b&gt;", soft("wait_max <b>"))
}
