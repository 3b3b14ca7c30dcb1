package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"orrery/cmd/orrery/internal/looks"
	"orrery/cmd/orrery/internal/tunedir"
	"orrery/internal/disk"
	"orrery/sim/plan"
	"orrery/sim/record"
	"orrery/sim/tune"
)

// mayUse refuses the directory of something else.
func (v *tuneVerb) mayUse(p *tune.Problem) (err error) {
	v.owned, err = v.claimed(p)
	return err
}

// claimed says whether the directory is of this tune already.
func (v *tuneVerb) claimed(p *tune.Problem) (bool, error) {
	path := filepath.Join(v.out, tunedir.File)
	text, err := disk.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		for _, name := range []string{"tune.json", "study", "study.json", "run.json", "page.md", "report.html", "report.json", "profile.yaml", tunedCluster} {
			if _, err := os.Lstat(filepath.Join(v.out, name)); err == nil {
				return false, usagef("--out %s: found %s there and no %s that says what it is of, want a new directory or one of the same tune: name another with --out, or remove what is there", v.out, name, tunedir.File)
			}
		}
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var found tunedir.Settings
	err = json.Unmarshal(text, &found)
	if other := versionIn(found.Schema); strings.HasPrefix(found.Schema, tunedir.Kind) && other != tuneFormat.now {
		return false, v.elsewhere(tuneFormat, path, other)
	}
	if err == nil && found.Schema == tunedir.Schema && found.Semantics > 0 && found.Semantics != plan.Semantics {
		return false, v.elsewhere(semanticsFormat, path, found.Semantics)
	}
	if err != nil || found.Schema != tunedir.Schema {
		return false, usagef("%s: want the settings of a tune (schema %s), which it does not hold: name another directory with --out, or remove this one", path, tunedir.Schema)
	}
	if what := found.Others(tunedir.Of(p, &v.opt, v.loads)); what != "" {
		return false, usagef("--out %s holds the tune of something else: found there %s. Name another directory with --out, or remove this one, to begin anew; the same log and settings go on with it", v.out, what)
	}
	return true, nil
}

// elsewhere refuses the directory of a tune of another version, with the same command
// for another directory.
func (v *tuneVerb) elsewhere(f *fileFormat, path string, version int) error {
	return coded(exitUsage, errors.Unwrap(f.only(path, version, v.m.otherOut(v.out))))
}

// claim makes the directory, which mayUse has looked at, that of this tune.
func (v *tuneVerb) claim(p *tune.Problem) error {
	if v.owned {
		return nil
	}
	text, err := record.AppendJSON(nil, tunedir.Of(p, &v.opt, v.loads))
	if err != nil {
		return err
	}
	if err := disk.Folder(v.out); err != nil {
		return err
	}
	return v.m.create(filepath.Join(v.out, tunedir.File), writing(text))
}

// remarkLooks tells what the ledger of looks says. That it cannot be kept is said, and stops
// nothing.
func (v *tuneVerb) remarkLooks(r *tune.Report, p *tune.Problem) {
	settings, err := json.Marshal(tunedir.Of(p, &v.opt, v.loads).Choosing())
	if err == nil {
		var said []string
		said, err = looks.Enter(r, settings)
		for _, text := range said {
			v.m.say("%s", text)
		}
	}
	if err != nil {
		v.m.say("orrery: the ledger of tunes of a log cannot be kept: %v", err)
	}
}
