package conform

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"orrery/tools/refdata"
)

// All recorded cases of the schemas that are known pass.
func TestRecordedCases(t *testing.T) {
	dir := refdata.Path(t, "conformance")
	for _, s := range schemas() {
		t.Run(s.name, func(t *testing.T) {
			content, err := os.ReadFile(filepath.Join(dir, s.name+".json"))
			require.NoError(t, err)
			f, ok := Check(s.name+".json", content)
			require.True(t, ok)
			require.Empty(t, f.Refused)
			t.Logf("%d cases, %d passed, %d failed, %d skipped", f.Cases, f.Passed, f.Failed, f.Skipped)
			require.Empty(t, f.Failures)
			require.Positive(t, f.Passed)
		})
	}
}
