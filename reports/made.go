package reports

import (
	"encoding/json"
	"path/filepath"

	"orrery/internal/disk"
	"orrery/reports/page"
	"orrery/sim/record"
)

// madeOf is what made a run, by what it notes of itself: nothing where it does not.
func madeOf(dir string) page.Made {
	raw, err := disk.ReadFile(filepath.Join(dir, record.FileHost))
	if err != nil {
		return page.Made{}
	}
	var h struct {
		Started   string   `json:"started"`
		Revision  string   `json:"revision"`
		Arguments []string `json:"arguments"`
	}
	if json.Unmarshal(raw, &h) != nil {
		return page.Made{}
	}
	return page.Made{Version: h.Revision, Command: page.CommandLine(h.Arguments), Date: h.Started}
}
