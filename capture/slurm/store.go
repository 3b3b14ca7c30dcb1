package slurm

import (
	"bufio"
	"bytes"
	"cmp"
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
	"orrery/scheduler/model"
)

const (
	newsFolder = "polls"
	stateFile  = "state.json"
	newsSuffix = ".jsonl"
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
	kindNodeEvent   = "node-event"  // a line of sacctmgr show event, as JSON
	kindReservation = "reservation" // as JSON
	kindAccounts    = "accounts"    // the table of sacctmgr show assoc
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
	Known        map[string]known `json:"known"` // by kind and key
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

// load reads the state, and the files that are newer than it.
func load(dir string) (s state, err error) {
	s.Known = map[string]known{}
	path := filepath.Join(dir, stateFile)
	text, err := disk.ReadFile(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return s, err
	default:
		if err := json.Unmarshal(text, &s); err != nil || s.Known == nil {
			return s, fmt.Errorf("%s: found no state of a capture; remove it, and the next start makes it of the files of %s", path, newsFolder)
		}
	}
	list, err := files(dir)
	if err != nil {
		return s, err
	}
	for _, f := range list {
		if f.last < s.Next {
			continue
		}
		for r, err := range f.records(dir) {
			if err != nil {
				return s, err
			}
			s.apply(r, r.sum(), r.until())
			s.First, s.Last = cmp.Or(s.First, r.At), max(s.Last, r.At)
		}
		s.Next = f.last + 1
	}
	return s, nil
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
		f := file{first: s.Next, last: s.Next}
		if err := disk.WriteFile(filepath.Join(dir, newsFolder, f.name()), text.Bytes()); err != nil {
			return err
		}
		s.Next++
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := disk.WriteFile(filepath.Join(dir, stateFile), append(text, '\n')); err != nil {
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
}

func (f file) name() string {
	return fmt.Sprintf("%d-%012d-%012d%s", f.level, f.first, f.last, newsSuffix)
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
		var f file
		if n, err := fmt.Sscanf(e.Name(), "%d-%d-%d"+newsSuffix, &f.level, &f.first, &f.last); err != nil || n != 3 || f.name() != e.Name() {
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
		if slices.ContainsFunc(tail, func(f file) bool { return f.level != level }) {
			break
		}
		one := file{level: level + 1, first: tail[0].first, last: tail[together-1].last}
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

// records goes through a file. The record is valid until the next.
func (f file) records(dir string) iter.Seq2[*record, error] {
	return func(yield func(*record, error) bool) {
		path := filepath.Join(dir, newsFolder, f.name())
		in, err := disk.Open(path)
		if err != nil {
			yield(nil, err)
			return
		}
		defer in.Close() // only read
		lines := json.NewDecoder(bufio.NewReaderSize(in, 1<<16))
		for {
			var r record
			err := lines.Decode(&r)
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(nil, fmt.Errorf("%s: it was altered since it was written: %w", path, err))
				return
			}
			if !yield(&r, nil) {
				return
			}
		}
	}
}

// everything goes through all files of a folder.
func everything(dir string) iter.Seq2[*record, error] {
	return func(yield func(*record, error) bool) {
		all, err := files(dir)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, f := range all {
			for r, err := range f.records(dir) {
				if !yield(r, err) || err != nil {
					return
				}
			}
		}
	}
}

// sum is what the record is recognised by.
func (r *record) sum() uint64 {
	if r.Kind == kindQueued {
		return sumOf(withoutPriority(r.Value))
	}
	return sumOf(r.Value)
}

// until is when a record may be forgotten, from its value alone.
func (r *record) until() model.Time {
	switch r.Kind {
	case kindJob:
		return endOf(r.Value)
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
