package importer

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"orrery/tools/refdata"
	"orrery/traces"
)

// publicFolders hold the public files that are imported, or refused with a reason.
var publicFolders = []string{"swf", "gpu", "slurm", "workflow", "service", "energy", "failure", "oracle"}

// TestPublicFiles looks at every public file.
func TestPublicFiles(t *testing.T) {
	root := refdata.Path(t, "traces")
	for _, folder := range publicFolders {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			name, err := filepath.Rel(root, path)
			require.NoError(t, err)
			began := time.Now()
			of, report, err := importPublic(t, path)
			took := time.Since(began).Round(time.Millisecond)
			if err != nil {
				fmt.Printf("REFUSED %s %s %.200s\n", name, took, err)
				return nil
			}
			fmt.Printf("OK %s %s %s read %d kept %d %s\n", name, of, took, report.Read, report.Kept, counts(report.Dropped))
			return nil
		})
		require.NoError(t, err)
	}
}

// importPublic imports a file, with a zone where it asks for one.
func importPublic(t *testing.T, path string) (Format, traces.Report, error) {
	t.Helper()
	of, err := Detect(path)
	if err != nil {
		return of, traces.Report{}, err
	}
	out := filepath.Join(t.TempDir(), "x.trace")
	report, err := Import([]string{path}, out, Options{})
	var data *traces.DataError
	if errors.As(err, &data) && data.Expected == "an instant with its zone" {
		report, err = Import([]string{path}, out, Options{Zone: time.UTC})
	}
	if err == nil {
		require.NoError(t, os.RemoveAll(out))
	}
	return of, report, err
}
