package slurm

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"orrery/internal/disk"
	"orrery/internal/seal"
	"orrery/scheduler/model"
)

const (
	newsFolder = "polls"
	stateFile  = "state.json"
	newsSuffix = ".polls" // each poll ends with its seal
	oldSuffix  = ".jsonl" // of captures by earlier versions, which have no seals
	// together is how many files of a level become one of the next.
	together = 16
)

// record is something that a poll found and that no earlier one had found just so.
type record struct {
	At    model.Time `json:"at"` // of the poll, µs since 1970
	Kind  string     `json:"kind"`
	Key   string     `json:"key,omitempty"`
	Value string     `json:"value,omitempty"` // "" for what is gone
}

// Kinds of records.
const (
	kindColumns     = "columns"     // of the jobs that follow
	kindJob         = "job"         // a row of sacct, by id and submission
	kindQueued      = "queued"      // a job in the queue, as JSON
	kindNode        = "node"        // a line of scontrol show nodes, as JSON
	kindNodeState   = "node-state"  // of a node, as JSON, see delays.go
	kindCompleting  = "completing"  // a job that has ended and still holds its nodes, as JSON
	kindNodeEvent   = "node-event"  // a line of sacctmgr show event, as JSON
	kindReservation = "reservation" // as JSON
	kindAccounts    = "accounts"    // the table of sacctmgr show assoc
	kindSeal        = "seal"        // the end of a poll, see chain
)

// state says what is acknowledged, and what is known and need not be told again.
type state struct {
	Next         int64            `json:"next"` // number of the next file
	Acknowledged model.Time       `json:"acknowledged"`
	First        model.Time       `json:"first"` // poll
	Last         model.Time       `json:"last"`
	Polls        int64            `json:"polls"`
	Incomplete   int64            `json:"incomplete"` // polls in which a command failed
	LongestGap   model.Duration   `json:"longest_gap_us"`
	Known        map[string]known `json:"known"`           // by kind and key
	Nodes        model.Time       `json:"nodes,omitempty"` // the last poll that was told the states of nodes
	Seal         string           `json:"seal,omitempty"`  // of the last poll in the files before Next
}

// known is what was last told of something.
type known struct {
	Sum   uint64     `json:"sum"`
	Until model.Time `json:"until,omitempty"` // may be forgotten once this is acknowledged; 0 for never
}

func sumOf(text string) uint64 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, text) // it cannot fail
	return h.Sum64()
}

func (s *state) apply(r *record, sum uint64, until model.Time) {
	s.Known[r.Kind+" "+r.Key] = known{sum, until}
}

// load reads the state, and the files that are newer than it. Without a state, all is asked
// again from the first poll on: what the files know is recognised.
func load(dir string, since model.Time) (s state, err error) {
	s.Known = map[string]known{}
	path := filepath.Join(dir, stateFile)
	text, err := disk.ReadFile(path)
	stated := err == nil
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return s, err
	default:
		if s, err = readState(path, text); err != nil {
			return s, err
		}
	}
	list, err := files(dir)
	if err != nil {
		return s, err
	}
	if err := s.holds(dir, list); err != nil {
		return s, err
	}
	c := chain{head: s.Seal}
	for _, f := range list {
		if f.last < s.Next {
			continue
		}
		for r, err := range f.records(dir, &c) {
			if err != nil {
				return s, err
			}
			s.apply(r, r.sum(), r.until())
			s.First, s.Last = cmp.Or(s.First, r.At), max(s.Last, r.At)
		}
		s.Next, s.Seal = f.last+1, c.head
	}
	if !stated && s.Next > 0 {
		s.Acknowledged = min(since, s.First)
	}
	return s, nil
}

// readState reads the state that was kept. One of an earlier version has no seal, and is the
// only one that may have none.
func readState(path string, text []byte) (s state, err error) {
	body, err := seal.CutObject(text)
	old := errors.Is(err, seal.ErrNone)
	if old {
		body, err = text, nil
	}
	if err == nil {
		err = json.Unmarshal(body, &s)
	}
	if err == nil && (s.Known == nil || old && s.Seal != "") {
		err = errors.New("found no state of a capture")
	}
	if err != nil {
		return s, fmt.Errorf("%s: %w; remove it, and the next start makes it of the files of %s and asks for all jobs since the first poll", path, err, newsFolder)
	}
	return s, nil
}

// holds checks that the files are those of the polls that s knows: from the first on, without a
// gap, and as many.
func (s *state) holds(dir string, list []file) error {
	next := int64(0)
	for _, f := range list {
		if f.first != next {
			return missing(dir, next, f.first)
		}
		next = f.last + 1
	}
	if next < s.Next {
		return missing(dir, next, s.Next)
	}
	return nil
}

func missing(dir string, from, to int64) error {
	return fmt.Errorf("%s: found no file of the polls %d to %d, which were written: put them back; a capture without them would lose their jobs", filepath.Join(dir, newsFolder), from, to-1)
}

// keep writes the news of a poll, then the state.
func (s *state) keep(dir string, news []record) error {
	if len(news) > 0 {
		var text bytes.Buffer
		out := json.NewEncoder(&text)
		out.SetEscapeHTML(false)
		for i := range news {
			if err := out.Encode(&news[i]); err != nil {
				return err
			}
		}
		end := sealOf(s.Seal, text.Bytes())
		if err := out.Encode(&record{At: news[0].At, Kind: kindSeal, Value: end}); err != nil {
			return err
		}
		f := file{first: s.Next, last: s.Next}
		if err := disk.WriteFile(filepath.Join(dir, newsFolder, f.name()), text.Bytes()); err != nil {
			return err
		}
		s.Next, s.Seal = s.Next+1, end
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := disk.WriteFile(filepath.Join(dir, stateFile), seal.Object(text)); err != nil {
		return err
	}
	if len(news) == 0 || s.Next%together != 0 {
		return nil
	}
	return compact(dir)
}

// file holds the news of polls, numbered from first to last. Level counts how often it
// was put together.
type file struct {
	level       int
	first, last int64
	old         bool // without seals
}

func (f file) name() string {
	suffix := newsSuffix
	if f.old {
		suffix = oldSuffix
	}
	return fmt.Sprintf("%d-%012d-%012d%s", f.level, f.first, f.last, suffix)
}

// files lists those of a folder in the order of their polls, without those that a larger
// one covers.
func files(dir string) ([]file, error) {
	all, _, err := covered(dir)
	return all, err
}

// covered lists also those that a larger one covers.
func covered(dir string) (all, under []file, err error) {
	entries, err := os.ReadDir(filepath.Join(dir, newsFolder))
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		f := file{old: strings.HasSuffix(e.Name(), oldSuffix)}
		if n, err := fmt.Sscanf(e.Name(), "%d-%d-%d", &f.level, &f.first, &f.last); err != nil || n != 3 || f.name() != e.Name() {
			continue // what is being written
		}
		all = append(all, f)
	}
	slices.SortStableFunc(all, func(a, b file) int {
		return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(b.level, a.level))
	})
	kept := all[:0]
	reach := int64(-1)
	for _, f := range all {
		if f.last <= reach {
			under = append(under, f)
			continue
		}
		reach = f.last
		kept = append(kept, f)
	}
	return kept, under, nil
}

// compact puts the last files of a level together, and of the next ones, too.
func compact(dir string) error {
	all, under, err := covered(dir)
	if err != nil {
		return err
	}
	for level := 0; len(all) >= together; level++ {
		tail := all[len(all)-together:]
		if slices.ContainsFunc(tail, func(f file) bool { return f.level != level || f.old != tail[0].old }) {
			break
		}
		one := file{level: level + 1, first: tail[0].first, last: tail[together-1].last, old: tail[0].old}
		err := disk.Replace(filepath.Join(dir, newsFolder, one.name()), func(w io.Writer) error {
			for _, f := range tail {
				text, err := disk.ReadFile(filepath.Join(dir, newsFolder, f.name()))
				if err == nil {
					_, err = w.Write(text)
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		under = append(under, tail...)
		all = append(all[:len(all)-together:len(all)-together], one)
	}
	for _, f := range under {
		if err := disk.Delete(filepath.Join(dir, newsFolder, f.name())); err != nil {
			return err
		}
	}
	return nil
}

// chain is what the seals of the polls up to here come to. The seal of a poll is the SHA-256 of
// the one before it and of its own lines, so that no line and no poll can be altered, taken out or
// put in without notice.
type chain struct{ head string }

func sealOf(before string, lines []byte) string {
	h := sha256.New()
	_, _ = io.WriteString(h, before) // it cannot fail
	_, _ = h.Write(lines)
	return hex.EncodeToString(h.Sum(nil))
}

// records goes through a file, and checks the seals of its polls: a poll is handed out when its
// seal was found right. The record is valid until the next. Memory: the lines of a poll.
func (f file) records(dir string, c *chain) iter.Seq2[*record, error] {
	return func(yield func(*record, error) bool) {
		path := filepath.Join(dir, newsFolder, f.name())
		altered := func(line int, why error) {
			yield(nil, fmt.Errorf("%s, line %d: %w: it was altered since it was written; put the file back as it was", path, line, why))
		}
		if f.old && c.head != "" {
			altered(1, errors.New("a file without seals behind one that has them"))
			return
		}
		in, err := disk.Open(path)
		if err != nil {
			yield(nil, err)
			return
		}
		defer in.Close() // only read
		var poll []record
		var text []byte
		lines := bufio.NewReaderSize(in, 1<<16)
		for n := 1; ; n++ {
			line, err := lines.ReadBytes('\n')
			if errors.Is(err, io.EOF) && len(line) == 0 {
				break
			}
			var r record
			if err == nil {
				err = json.Unmarshal(line, &r)
			}
			if err != nil {
				altered(n, err)
				return
			}
			if poll = append(poll, r); !f.old && r.Kind != kindSeal {
				text = append(text, line...)
				continue
			}
			if !f.old {
				if want := sealOf(c.head, text); r.Value != want {
					altered(n, fmt.Errorf("found the seal %.16s…, want %.16s…", r.Value, want))
					return
				}
				c.head, poll, text = r.Value, poll[:len(poll)-1], text[:0]
			}
			for i := range poll {
				if !yield(&poll[i], nil) {
					return
				}
			}
			poll = poll[:0]
		}
		if len(poll) > 0 {
			altered(0, errors.New("the last poll has no seal"))
		}
	}
}

// everything goes through all files of a folder up to the poll of a state, and checks that they
// end as that says.
func everything(dir string, upTo *state) iter.Seq2[*record, error] {
	return func(yield func(*record, error) bool) {
		all, err := files(dir)
		if err == nil {
			err = upTo.holds(dir, all)
		}
		if err != nil {
			yield(nil, err)
			return
		}
		var c chain
		for _, f := range all {
			for r, err := range f.records(dir, &c) {
				if !yield(r, err) || err != nil {
					return
				}
			}
		}
		if c.head != upTo.Seal {
			yield(nil, fmt.Errorf("%s: found polls that end with the seal %.16s…, want %.16s…: they were altered since they were written; put them back as they were", filepath.Join(dir, newsFolder), c.head, upTo.Seal))
		}
	}
}

// sum is what the record is recognised by.
func (r *record) sum() uint64 {
	if r.Kind == kindQueued || r.Kind == kindNodeState {
		return sumOf(withoutFirst(r.Value))
	}
	return sumOf(r.Value)
}

// until is when a record may be forgotten, from its value alone.
func (r *record) until() model.Time {
	switch r.Kind {
	case kindJob:
		return endOf(r.Value)
	case kindCompleting:
		if r.Value == "" {
			return r.At
		}
	case kindNodeEvent:
		var e nodeEvent
		if json.Unmarshal([]byte(r.Value), &e) == nil {
			return seconds(e.End)
		}
	}
	return 0
}

// forget drops what no window reaches back to, and jobs that are in the queue no more.
func (s *state) forget(queue map[string]bool) {
	for key, k := range s.Known { //detlint:ordered each is looked at by itself
		past := k.Until > 0 && k.Until < s.Acknowledged.Add(-2*overlap)
		waiting, queued := strings.CutPrefix(key, kindQueued+" ")
		if past || queued && queue != nil && !queue[waiting] {
			delete(s.Known, key)
		}
	}
}
