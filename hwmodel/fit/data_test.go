package fit

import (
	"encoding/csv"
	"io"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"
)

// sheet is a file with a header.
type sheet struct {
	t      *testing.T
	column map[string]int
	rows   [][]string
}

func readSheet(t *testing.T, r io.Reader) sheet {
	t.Helper()
	reader := csv.NewReader(r)
	reader.FieldsPerRecord = -1
	all, err := reader.ReadAll()
	require.NoError(t, err)
	s := sheet{t, map[string]int{}, all[1:]}
	for i, name := range all[0] {
		s.column[name] = i
	}
	return s
}

func openSheet(t *testing.T, path string) sheet {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	return readSheet(t, f)
}

func (s sheet) text(row []string, name string) string {
	i, has := s.column[name]
	require.True(s.t, has, name)
	return row[i]
}

func (s sheet) number(row []string, name string) float64 {
	x, err := strconv.ParseFloat(s.text(row, name), 64)
	require.NoError(s.t, err, name)
	return x
}

func mean(x []float64) float64 { return stat.Mean(x, nil) }
