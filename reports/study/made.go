package study

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"orrery/internal/disk"
	"orrery/reports/page"
	"orrery/sim/record"
)

// fileMade says, beside the page of a study, what made it.
const fileMade = "made.json"

// ReadMade reads what Write has left in dir; nothing where it has not.
func ReadMade(dir string) (m page.Made, err error) {
	path := filepath.Join(dir, fileMade)
	raw, err := disk.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err != nil {
		return m, fmt.Errorf("reading what made the study: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&m); err != nil {
		return m, &record.DataError{File: path, Row: -1, Found: err.Error(), Expected: "version, command and date", Mend: "remove the file: the page then does not say what made it"}
	}
	return m, nil
}

// writeMade leaves it in dir, unless it says nothing.
func writeMade(dir string, m page.Made) error {
	if m == (page.Made{}) {
		return nil
	}
	raw, err := record.AppendJSON(nil, m)
	if err != nil {
		return err
	}
	return disk.WriteFile(filepath.Join(dir, fileMade), raw)
}
