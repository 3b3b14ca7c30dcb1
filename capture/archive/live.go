package archive

import (
	"errors"
	"os"
	"path/filepath"

	"orrery/capture"
	"orrery/internal/disk"
)

// mostLive is how much of the file of an agent is read, B: some hundred GPUs.
const mostLive = 1 << 20

// Live reads what agents that write into the folders show of themselves, by folder and name of node. Bundles among the paths, and
// what an agent is writing at this moment, are passed over.
func Live(paths ...string) (shown []*capture.Live, err error) {
	for _, path := range paths {
		entries, readErr := os.ReadDir(path)
		if readErr != nil {
			err = errors.Join(err, readErr)
			continue
		}
		for _, d := range entries {
			if !d.Type().IsRegular() || !capture.IsLive(d.Name()) {
				continue
			}
			if st, err := d.Info(); err != nil || st.Size() > mostLive {
				continue // gone with its agent
			}
			text, err := disk.ReadFile(filepath.Join(path, d.Name()))
			if err != nil {
				continue
			}
			if l, err := capture.ParseLive(text); err == nil {
				shown = append(shown, l)
			}
		}
	}
	return shown, err
}
