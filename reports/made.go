package reports

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"orrery/internal/disk"
	"orrery/sim/record"
)

// fileMade says, beside the page of a study, what made it.
const fileMade = "made.json"

// Made is what made the results of a page, and when. A page has it in its foot, in
// the element with the id made, and nowhere else: all the rest of a page depends on the
// results alone.
type Made struct {
	Version string `json:"version"` // of this program
	Command string `json:"command"`
	Date    string `json:"date"` // UTC
}

// ReadMade reads what WriteStudy has left in dir; nothing where it has not.
func ReadMade(dir string) (m Made, err error) {
	path := filepath.Join(dir, fileMade)
	raw, err := os.ReadFile(path)
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

// write leaves it in dir, unless it says nothing.
func (m Made) write(dir string) error {
	if m == (Made{}) {
		return nil
	}
	raw, err := record.AppendJSON(nil, m)
	if err != nil {
		return err
	}
	return disk.WriteFile(filepath.Join(dir, fileMade), raw)
}

// madeOf is what made a run, by what it notes of itself: nothing where it does not.
func madeOf(dir string) Made {
	raw, err := os.ReadFile(filepath.Join(dir, record.FileHost))
	if err != nil {
		return Made{}
	}
	var h struct {
		Started   string   `json:"started"`
		Revision  string   `json:"revision"`
		Arguments []string `json:"arguments"`
	}
	if json.Unmarshal(raw, &h) != nil {
		return Made{}
	}
	return Made{Version: h.Revision, Command: CommandLine(h.Arguments), Date: h.Started}
}

// CommandLine writes a command as a shell takes it.
func CommandLine(args []string) string {
	if len(args) == 0 {
		return ""
	}
	words := []string{"orrery"}
	for _, a := range args {
		if a == "" || strings.ContainsAny(a, " \t\n\"'\\$`&|;<>()*?[]#~!{}") {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		words = append(words, a)
	}
	return strings.Join(words, " ")
}
