package capture

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// endless is a text of one letter, and counts what was read of it.
type endless struct{ read int64 }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	e.read += int64(len(p))
	return len(p), nil
}

// A line that does not end is refused before it is held, and a file of whole lines is read as it is.
func TestConvertOfALineThatDoesNotEnd(t *testing.T) {
	for _, head := range []string{"", "a\nb\n", strings.Repeat("a line\n", 1<<19)} {
		var rest endless
		text, err := readBounded(io.MultiReader(strings.NewReader(head), &rest), 0, mostRecording, true)
		require.ErrorIs(t, err, errLongLine)
		require.LessOrEqual(t, rest.read, int64(3*mostLine))
		require.Equal(t, strings.Count(head, "\n"), strings.Count(string(text), "\n"))
	}
	whole := strings.Repeat("some line of a text\n", 1<<18) + "and its end"
	for _, size := range []int64{0, int64(len(whole)), 7} {
		text, err := readBounded(strings.NewReader(whole), size, mostRecording, true)
		require.NoError(t, err)
		require.Equal(t, whole, string(text))
	}
	var rest endless
	text, err := readBounded(&rest, 0, 5*mostLine, false)
	require.NoError(t, err)
	require.Len(t, text, 5*mostLine+1, "one more than may be")
}
