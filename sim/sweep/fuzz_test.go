package sweep

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzOpen puts bytes in place of the two files that opening reads: it refuses
// them or gives a study whose specs can be asked for.
func FuzzOpen(f *testing.F) {
	good := study(f, 0, toys(3, toy{})...)
	head, err := os.ReadFile(good.path("study.json"))
	require.NoError(f, err)
	specs, err := os.ReadFile(good.packPath(0))
	require.NoError(f, err)
	f.Add(head, specs)
	f.Add(head, []byte(`{"format":1,"first":0,"chunk":1,"tasks":[{"sha256":"","bytes":9223372036854775807}]}`+"\n"))
	f.Add([]byte(`{"format":1,"lease_ms":9223372036854775807}`), specs)
	f.Fuzz(func(t *testing.T, head, specs []byte) {
		dir := t.TempDir()
		require.NoError(t, os.Mkdir(filepath.Join(dir, specsDir), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "study.json"), head, 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, specsDir, "000000.jsonl"), specs, 0o600))
		s, err := Open(dir, "")
		if err != nil {
			return
		}
		for n := range s.Len() {
			spec, err := s.Spec(n)
			if err == nil {
				require.Equal(t, s.Digest(n), DigestOf(spec))
			}
		}
	})
}

// FuzzTakeOver puts bytes in place of the claim and the journal of a worker that
// has vanished: taking over neither fails nor loses a task.
func FuzzTakeOver(f *testing.F) {
	f.Add([]byte(`{"writer":"w","worker":0,"origin":{"host":"h","pid":1}}`+"\n..."), []byte(`{"kind":"start","task":1,"chunk":0,"generation":1}`+"\n"))
	f.Add([]byte(`{"writer":"../../study.json"}`+"\n"), []byte("{}\n\x00\n"))
	f.Fuzz(func(t *testing.T, claim, journal []byte) {
		s := study(t, 0, toys(128, toy{})...)
		require.NoError(t, os.WriteFile(s.claimPath(0, 1), claim, 0o600))
		require.NoError(t, os.WriteFile(s.journalPath("w"), journal, 0o600))
		c := s.chunkList()[0]
		_, err := s.losses(c, 2, []int{0, 1})
		require.NoError(t, err)
		_, err = newObserver(s, "o", here()).expired(0, 1)
		require.NoError(t, err)
		_, err = s.Follow().Poll()
		require.NoError(t, err)
	})
}
