package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"

	"orrery/scheduler/model"
	"orrery/sim/tune"
)

// look is one tune that held candidates against the current policy on acceptance
// windows of a trace. Each look of other settings is another chance of a false
// claim, which no correction within one tune can know of.
type look struct {
	Trace    string     `json:"trace"` // the hash of its content
	From     model.Time `json:"from_us"`
	To       model.Time `json:"to_us"` // of the acceptance windows, first and last
	Settings string     `json:"settings"`
}

// worn is from how many looks the windows of a trace are said to be worn: the chance
// that one of them claims a gain that is not there is then about one in five.
const worn = 4

// looksPath is the ledger of the user: it says nothing of results, and no result
// depends on it.
func looksPath() (string, error) {
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

// looked enters a tune into the ledger, once however often it is repeated, and says for
// each trace how many tunes of other settings have looked at windows that overlap
// with its acceptance windows.
func (v *tuneVerb) looked(r *tune.Report, p *tune.Problem) ([]string, error) {
	own, err := v.looks(r, p)
	if err != nil || len(own) == 0 {
		return nil, err
	}
	path, err := looksPath()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var known []look
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var l look
		if json.Unmarshal(lines.Bytes(), &l) == nil { // a line that was cut off counts for nothing
			known = append(known, l)
		}
	}
	var said []string
	for i, l := range own {
		others, before := map[string]bool{}, false
		for _, k := range known {
			if k.Trace != l.Trace || k.To <= l.From || k.From >= l.To {
				continue
			}
			if before = before || k == l; k.Settings != l.Settings {
				others[k.Settings] = true
			}
		}
		if n := len(others); n > 0 {
			said = append(said, lookWords(r.Traces[i].Name, n))
		}
		if before {
			continue
		}
		line, err := json.Marshal(l)
		if err != nil {
			return said, err
		}
		if _, err := f.Write(append(line, '\n')); err != nil {
			return said, err
		}
	}
	return said, f.Sync()
}

// looks are those of a tune, by trace; none where no candidate came so far.
func (v *tuneVerb) looks(r *tune.Report, p *tune.Problem) ([]look, error) {
	judged := false
	for i := range r.Finalists {
		judged = judged || len(r.Finalists[i].Lines) > 0
	}
	if !judged {
		return nil, nil
	}
	text, err := json.Marshal(v.choosing(p))
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	out := make([]look, len(r.Traces))
	for i := range out {
		out[i] = look{Trace: r.Traces[i].Hash, Settings: hex.EncodeToString(sum[:8])}
	}
	for _, w := range r.Windows {
		if l := &out[w.Trace]; w.Set == tune.ForAcceptance {
			if l.To == 0 {
				l.From = w.Begin
			}
			l.To = w.End
		}
	}
	return out, nil
}

// choosing is what decides which candidates are held against the current policy, and on
// what: not the name of a file, nor what is measured beside the decision.
func (v *tuneVerb) choosing(p *tune.Problem) *tuneSettings {
	out := v.identity(p)
	for i := range out.Logs {
		out.Logs[i].Name = ""
	}
	out.Settings = slices.DeleteFunc(out.Settings, func(s tuneSetting) bool {
		return slices.Contains([]string{"--loads", "--sobol"}, s.Name)
	})
	return out
}

func lookWords(trace string, others int) string {
	tunes := fmt.Sprintf("%d other tunes have", others)
	if others == 1 {
		tunes = "another tune has"
	}
	chance := 1 - math.Pow(0.95, float64(others+1))
	text := fmt.Sprintf("%s: %s used these acceptance windows; that one of so many claims a gain that is not there has a chance of up to %.0f %%.", trace, tunes, 100*chance)
	if others+1 > worn {
		text += " The windows are worn: confirm on a newer log."
	}
	return text
}

// remarkLooks tells what the ledger says. That it cannot be kept is said, and stops
// nothing.
func (v *tuneVerb) remarkLooks(r *tune.Report, p *tune.Problem) {
	said, err := v.looked(r, p)
	if err != nil {
		v.m.say("orrery: the ledger of looks at acceptance windows cannot be kept: %v", ledgerError(err))
	}
	for _, text := range said {
		v.m.say("%s", text)
	}
}

func ledgerError(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return fmt.Errorf("%w; set XDG_STATE_HOME to a folder that can be written", err)
	}
	return err
}
