package profiles

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRetired reads files as earlier versions took them: each key that is gone is
// refused with its line and with what to write instead.
func TestRetired(t *testing.T) {
	load := map[string]func(string) error{
		"cluster":    func(f string) error { _, err := LoadCluster(f); return err },
		"profile":    func(f string) error { _, err := Load(f); return err },
		"experiment": func(f string) error { _, err := LoadExperiment(f); return err },
		"gate":       func(f string) error { _, err := LoadGate(f); return err },
	}
	for _, c := range []struct {
		kind, key string
		line      int
		says      string
	}{
		{"profile", "preemption.kill_grace", 6, "write agents: {kill_grace: 45s} in the cluster file"},
		{"cluster", "vclusters[0].profile.preemption.kill_grace", 9, "write agents: {kill_grace: 45s} in the cluster file"},
		{"experiment", "windows[0].warm", 3, "write lead: 7d"},
		{"experiment", "machine", 7, "write plain_cluster: in place of machine:"},
		{"experiment", "shake", 8, "write jitter: in place of shake:, and in it as_logged: for unshaken:"},
		{"gate", "runs[0].windows.warm", 5, "leave it out"},
		{"gate", "runs[0].shake", 6, "write jitter: 30s"},
		{"gate", "paired[0].block", 12, "leave it out"},
	} {
		err := load[c.kind](filepath.Join("testdata", "retired", c.kind+".yaml"))
		var wrong *Error
		require.True(t, errors.As(err, &wrong), "%s: %v", c.kind, err)
		found := false
		for _, p := range wrong.Problems {
			if p.Key == c.key {
				found = true
				require.Equal(t, c.line, p.Line, c.key)
				require.Contains(t, p.Text, "is a key of earlier versions (")
				require.Contains(t, p.Text, c.says)
			}
		}
		require.True(t, found, "%s in %v", c.key, err)
	}
	files, err := os.ReadDir(filepath.Join("testdata", "retired"))
	require.NoError(t, err)
	require.Len(t, files, len(load), "a file of each kind")
	for _, r := range retired { // none of them may come back with another meaning
		_, known := findField(fieldsOf(r.in), r.key)
		require.False(t, known, r.key)
	}
}
