package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"

	"orrery/internal/disk"
	"orrery/scheduler/model"
)

// journal says what the file that is being written holds, for the start after a kill. It is
// written in place after each sample, without a sync: a kill leaves what was written to the
// system, and after a power cut the gap is known by its times all the same.
type journal struct {
	file *os.File
	text []byte
}

// entry is what the journal says. Instants are µs since 1970.
type entry struct {
	Bundle   string         `json:"bundle"`
	Interval model.Duration `json:"interval_us"`
	From     model.Time     `json:"from_us"` // the first sample that no finished bundle accounts for
	Last     model.Time     `json:"last_us"` // the last sample; before From when there is none
	Samples  int64          `json:"samples"` // taken for the file that is being written
	Rows     int64          `json:"rows"`    // of them and of their windows, written to it
	Series   int            `json:"series"`
}

const journalBytes = 512

func (o *Options) journalPath() string { return filepath.Join(o.Out, "."+o.Node+".journal") }

// openJournal opens the journal, which no other agent may have open, and reads the last entry. ok is false
// when there is none that can be believed.
func openJournal(path string) (j *journal, e entry, ok bool, err error) {
	f, err := disk.Lock(path)
	if err != nil {
		return nil, entry{}, false, fmt.Errorf("another agent writes to %s: %w", filepath.Dir(path), err)
	}
	text := make([]byte, journalBytes)
	n, _ := f.ReadAt(text, 0)
	e, ok = parseEntry(text[:n])
	return &journal{f, make([]byte, 0, journalBytes)}, e, ok, nil
}

// parseEntry reads a line with its sum in front.
func parseEntry(text []byte) (e entry, ok bool) {
	var sum uint32
	head, line, found := bytes.Cut(bytes.TrimRight(text, " \n\x00"), []byte(" "))
	if _, err := fmt.Sscanf(string(head), "%08x", &sum); !found || err != nil || crc32.ChecksumIEEE(line) != sum {
		return entry{}, false
	}
	return e, json.Unmarshal(line, &e) == nil && e.Interval > 0
}

// put replaces the entry.
func (j *journal) put(e *entry) error {
	line := fmt.Appendf(make([]byte, 0, journalBytes), `{"bundle":%q,"interval_us":%d,"from_us":%d,"last_us":%d,"samples":%d,"rows":%d,"series":%d}`,
		e.Bundle, int64(e.Interval), int64(e.From), int64(e.Last), e.Samples, e.Rows, e.Series)
	j.text = fmt.Appendf(j.text[:0], "%08x %s", crc32.ChecksumIEEE(line), line)
	for len(j.text) < journalBytes-1 {
		j.text = append(j.text, ' ')
	}
	_, err := j.file.WriteAt(append(j.text, '\n'), 0)
	return err
}

// begin replaces the entry when a bundle begins, and returns once it is on the disk: after a power cut it names the bundle that was being
// written, and not one before it.
func (j *journal) begin(e *entry) error {
	if err := j.put(e); err != nil {
		return err
	}
	return j.file.Sync()
}

func (j *journal) close() error { return j.file.Close() }

// lost is what a start finds of the run before it.
type lost struct {
	from, last model.Time // samples of the run before that are in no bundle; last before from when there are none
	until      model.Time // last sample of the run before; 0 when there was none
	rows       int64
	samples    int64
	bundle     string
}

// resume says what of the run before is lost, and removes what it left half written.
func (o *Options) resume(e entry, ok bool) (l lost, err error) {
	entries, err := os.ReadDir(o.Out)
	if err != nil {
		return lost{}, err
	}
	finished := false
	for _, d := range entries {
		name := d.Name()
		finished = finished || name == e.Bundle
		if hidden, ok := strings.CutPrefix(name, "."); ok && o.owns(hidden) && (strings.Contains(name, bundleSuffix+".partial-") || strings.HasSuffix(name, removedSuffix)) {
			if err := disk.Delete(filepath.Join(o.Out, name)); err != nil {
				return lost{}, err
			}
		}
	}
	if !ok {
		return lost{}, nil
	}
	l = lost{from: e.From, last: e.Last, until: e.Last, rows: e.Rows, samples: e.Samples, bundle: e.Bundle}
	if finished {
		l.from, l.rows, l.samples = e.Last.Add(e.Interval), 0, 0
	}
	return l, nil
}
