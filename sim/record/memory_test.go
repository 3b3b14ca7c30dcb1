package record

import (
	"fmt"
	"os"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/sim/record/column"
)

// What a row costs in memory is what the comments of Memory say: the sum of the
// elements of all columns.
func TestMemorySaysWhatItCosts(t *testing.T) {
	perRow := func(columns any) (bytes uintptr) {
		for f := range reflect.TypeOf(columns).Fields() {
			if f.Type.Kind() == reflect.Slice {
				bytes += f.Type.Elem().Size()
			}
		}
		return bytes
	}
	source, err := os.ReadFile("record.go")
	require.NoError(t, err)
	require.Contains(t, string(source), fmt.Sprintf("%d bytes per job, and per attempt %d", perRow(column.Jobs{}), perRow(column.Attempts{})))
	require.Contains(t, string(source), fmt.Sprintf("%d bytes more per job, and %d more per attempt", perRow(column.Site{}), perRow(column.SiteAttempts{})))
}
