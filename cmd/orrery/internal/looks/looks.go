// Package looks keeps the ledger of the tunes that looked for gains in a trace. It says
// nothing of results, and no result depends on it.
package looks

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"orrery/internal/disk"
	"orrery/internal/libm"
	"orrery/scheduler/model"
	"orrery/sim/tune"
)

// Look is one tune that held candidates against the current policy on a trace. Each look of
// other settings is another chance of a false claim, which no correction within one tune can
// know of.
type Look struct {
	Trace    string     `json:"trace"` // the hash of its content
	From     model.Time `json:"from_us"`
	To       model.Time `json:"to_us"` // of its windows, first and last
	Settings string     `json:"settings"`
}

// worn is from how many looks a trace is said to be worn: the chance
// that one of them claims a gain that is not there is then about one in five.
const worn = 4

// Path is the file of the ledger, of the user: below XDG_STATE_HOME.
func Path() (string, error) {
	dir := os.Getenv("XDG_STATE_HOME")
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(dir, "orrery", "looks.jsonl"), nil
}

// Enter enters the looks of a tune into the ledger, once however often it is repeated, and
// says for each trace how many tunes of other settings have looked at jobs of the same
// time.
func Enter(r *tune.Report, settings []byte) ([]string, error) {
	own := of(r, settings)
	if len(own) == 0 {
		return nil, nil
	}
	out, err := enter(r, own)
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		err = fmt.Errorf("%w; set XDG_STATE_HOME to a folder that can be written", err)
	}
	return out, err
}

func enter(r *tune.Report, own []Look) ([]string, error) {
	path, err := Path()
	if err != nil {
		return nil, err
	}
	if err := disk.Folder(filepath.Dir(path)); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	known := read(f)
	var out []string
	for i, l := range own {
		others, before := l.others(known)
		if others > 0 {
			out = append(out, said(r.Traces[i].Name, others))
		}
		if before {
			continue
		}
		line, err := json.Marshal(l)
		if err != nil {
			return out, err
		}
		if _, err := f.Write(append(line, '\n')); err != nil {
			return out, err
		}
	}
	return out, f.Sync()
}

// read reads the ledger. A line that was cut off counts for nothing.
func read(r io.Reader) (known []Look) {
	for lines := bufio.NewScanner(r); lines.Scan(); {
		var l Look
		if json.Unmarshal(lines.Bytes(), &l) == nil {
			known = append(known, l)
		}
	}
	return known
}

// others counts the settings of other tunes that looked at windows of the same trace, and
// says whether this one has done so before.
func (l Look) others(known []Look) (n int, before bool) {
	others := map[string]bool{}
	for _, k := range known {
		if k.Trace != l.Trace || k.To <= l.From || k.From >= l.To {
			continue
		}
		if before = before || k == l; k.Settings != l.Settings {
			others[k.Settings] = true
		}
	}
	return len(others), before
}

// of are the looks of a tune, by trace; none where no candidate came so far. The settings
// are what decides which candidates are compared, and on what.
func of(r *tune.Report, settings []byte) []Look {
	if r.Tested == 0 {
		return nil
	}
	sum := sha256.Sum256(settings)
	out := make([]Look, len(r.Traces))
	for i := range out {
		out[i] = Look{Trace: r.Traces[i].Hash, Settings: hex.EncodeToString(sum[:8])}
	}
	for _, w := range r.Windows {
		l := &out[w.Trace]
		if l.To == 0 {
			l.From = w.Begin
		}
		l.To = w.End
	}
	return out
}

// said is what a user is told of the other looks at a trace.
func said(trace string, others int) string {
	tunes := fmt.Sprintf("%d other tunes have", others)
	if others == 1 {
		tunes = "another tune has"
	}
	chance := 1 - libm.Pow(0.95, float64(others+1))
	text := fmt.Sprintf("%s: %s looked at these jobs; that one of so many claims a gain that is not there has a chance of up to %.0f %%.", trace, tunes, 100*chance)
	if others+1 > worn {
		text += " The log is worn: confirm on a newer log."
	}
	return text
}
