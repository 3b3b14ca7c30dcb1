//go:build !purego

package pagebytes

import (
	_ "unsafe" // for go:linkname

	_ "github.com/parquet-go/parquet-go/encoding/rle" // its init comes first
)

// The indexes of a dictionary are written in runs: of one index, or of packed ones. The
// library ends a packed run at the next eight equal indexes. Its function for AVX2 compares
// the first four with each other and the last four likewise, and so ends runs at eight that
// are not all equal too; its functions for other CPUs do not. Both ways are sound and give
// different bytes. What is asked here is asked in the same way on every CPU.
//
//go:linkname equalEight github.com/parquet-go/parquet-go/encoding/rle.encodeInt32IndexEqual8Contiguous
var equalEight func(words [][8]int32) int

func init() { equalEight = firstEqual }

// firstEqual is the first of words whose eight indexes are equal, or how many words there are.
func firstEqual(words [][8]int32) int {
	for i := range words {
		w := &words[i]
		if x := w[0]; w[1] == x && w[2] == x && w[3] == x && w[4] == x && w[5] == x && w[6] == x && w[7] == x {
			return i
		}
	}
	return len(words)
}
