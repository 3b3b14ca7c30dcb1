package pagecheck_test

import (
	"bytes"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/stretchr/testify/require"

	"orrery/internal/pagecheck"
)

// nested is a row with every kind of level: none, optional, repeated, and both in both orders.
type nested struct {
	ID    int64
	Name  *string
	Parts []string
	Tree  []struct {
		Leaf *int32
		Twig []int64
	}
	Deep *struct{ More *struct{ Most *bool } }
}

// nestedRows are rows in which each level occurs in runs and alternating.
func nestedRows() []nested {
	rows := make([]nested, 700)
	for i := range rows {
		r := &rows[i]
		r.ID = int64(i)
		if i%3 > 0 || i > 300 {
			r.Name = new(string)
		}
		r.Parts = make([]string, i%5)
		for range i % 4 {
			n, leaf := i%7, struct {
				Leaf *int32
				Twig []int64
			}{}
			if n > 2 {
				leaf.Leaf, leaf.Twig = new(int32), make([]int64, n)
			}
			r.Tree = append(r.Tree, leaf)
		}
		if i > 100 {
			r.Deep = &struct{ More *struct{ Most *bool } }{}
			if i%2 > 0 {
				r.Deep.More = &struct{ Most *bool }{Most: new(bool)}
			}
		}
	}
	return rows
}

// TestCheckedNested: a sound file of nested and repeated columns is accepted, whatever its pages
// are like; one whose levels end early is not.
func TestCheckedNested(t *testing.T) {
	for _, version := range []int{1, 2} {
		for _, codec := range []compress.Codec{&parquet.Uncompressed, &parquet.Snappy, &parquet.Gzip, &parquet.Brotli, &parquet.Zstd} {
			var file bytes.Buffer
			w := parquet.NewGenericWriter[nested](&file, parquet.DataPageVersion(version), parquet.Compression(codec), parquet.PageBufferSize(512))
			_, err := w.Write(nestedRows())
			require.NoError(t, err)
			require.NoError(t, w.Close())
			checked, err := pagecheck.Open(bytes.NewReader(file.Bytes()), int64(file.Len()))
			require.NoError(t, err)
			require.Equal(t, 1, checked.Groups())
			group, err := checked.Group(0)
			require.NoError(t, err, "version %d, %s", version, codec)
			require.Equal(t, int64(700), group.NumRows())
		}
	}
}

// TestCheckedDamage: of a file without checksums or compression, many a byte that is another is found
// before anything is decoded, and none makes the check panic.
func TestCheckedDamage(t *testing.T) {
	var file bytes.Buffer
	w := parquet.NewGenericWriter[nested](&file, parquet.DataPageVersion(1), parquet.Compression(&parquet.Uncompressed))
	_, err := w.Write(nestedRows()[:200])
	require.NoError(t, err)
	require.NoError(t, w.Close())
	found, text := 0, file.Bytes()
	for i := 4; i < len(text)-2000; i += 4 { // pages
		text[i] ^= 0xff
		checked, err := pagecheck.Open(bytes.NewReader(text), int64(len(text)))
		if err == nil {
			_, err = checked.Group(0)
		}
		if err != nil {
			found++
		}
		text[i] ^= 0xff
	}
	require.Greater(t, found, 50)
	_, err = pagecheck.Open(bytes.NewReader(text), int64(len(text)))
	require.NoError(t, err, "is as it was")
}
