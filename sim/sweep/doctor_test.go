package sweep

import (
	"bufio"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestExamine(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("ORRERY_TEST_PEER", "1")
	findings, err := Examine(context.Background(), Examination{Dir: dir, Peer: []string{os.Args[0]}})
	require.NoError(t, err)
	require.Len(t, findings, 10)
	for _, f := range findings {
		require.NotEqual(t, FindingBad, f.Verdict, f)
		require.NotEmpty(t, f.Why, f.Test)
	}
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)

	findings, err = Examine(context.Background(), Examination{Dir: dir, Peer: []string{"false"}})
	require.NoError(t, err)
	require.Equal(t, FindingBad, findings[len(findings)-1].Verdict)

	_, err = Examine(context.Background(), Examination{Dir: filepath.Join(dir, "no")})
	require.ErrorIs(t, err, os.ErrNotExist)
}

// TestExamineFindsLies plays a peer on a file system that lets both win.
func TestExamineFindsLies(t *testing.T) {
	f, err := race(t.TempDir(), "create", io.Discard, bufio.NewReader(strings.NewReader("0 1 2 3 4 5 6 7 8 9\n")))
	require.NoError(t, err)
	require.Equal(t, FindingBad, f.Verdict)
	require.Contains(t, f.Found, "of 300 names 10 went to both processes")
}
