package record

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// FuzzReadJobs feeds the reader any bytes in the place of jobs.parquet: it
// must end with rows or with a DataError that names the file.
func FuzzReadJobs(f *testing.F) {
	w, err := Create(filepath.Join(f.TempDir(), "run"), testMeta())
	if err != nil {
		f.Fatal(err)
	}
	jobs, _ := testRows(40)
	for i := range jobs {
		w.Job(&jobs[i])
	}
	if err := errors.Join(w.WriteJSON(FileRun, 1), w.Close()); err != nil {
		f.Fatal(err)
	}
	sound, err := os.ReadFile(filepath.Join(w.dir, "jobs.parquet"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sound)
	f.Add(sound[:len(sound)/2])
	f.Add([]byte("PAR1"))
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "jobs.parquet")
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
		table, err := openTable(&manifest{dir: filepath.Dir(path)}, TableJobs)
		if err == nil {
			err = table.Scan(func(*Columns) error { return nil })
			_ = table.Close()
		}
		var data *DataError
		if err != nil && (!errors.As(err, &data) || data.File != path) {
			t.Fatalf("%T: %v", err, err)
		}
	})
}
