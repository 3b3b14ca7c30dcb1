package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// readGiven reads the mutants that are always tried: a key a line, and lines that begin
// with # to explain them. A key that names none is an error, for the code has moved.
func readGiven(path string, all []*mutant) (out []*mutant, err error) {
	err = lines(path, func(line string) error {
		m := find(all, line)
		if m == nil {
			return fmt.Errorf("no mutant %q: the function has moved or changed; go run ./tools/mutate -list -n 100000 has them all", line)
		}
		out = append(out, m)
		return nil
	})
	return out, err
}

// readEquivalents reads keys, each followed by a tab and the reason why no test can
// notice.
func readEquivalents(path string, all []*mutant) (reasons map[string]string, err error) {
	reasons = map[string]string{}
	err = lines(path, func(line string) error {
		key, why, ok := strings.Cut(line, "\t")
		if !ok || strings.TrimSpace(why) == "" {
			return fmt.Errorf("want a mutant, a tab and the reason, found %q", line)
		}
		if find(all, key) == nil {
			return fmt.Errorf("no mutant %q: the function has moved or changed; remove the line, or mend it", key)
		}
		reasons[key] = strings.TrimSpace(why)
		return nil
	})
	return reasons, err
}

// readKept divides a list into the mutants that have a verdict in the file and the rest.
func readKept(path string, list []*mutant) (known []verdict, rest []*mutant, err error) {
	kept := map[string]verdict{}
	if path != "" {
		err = lines(path, func(line string) error {
			fields := strings.Split(line, "\t")
			if len(fields) != 3 {
				return fmt.Errorf("want a fate, a mutant and what noticed it, with tabs between them, found %q", line)
			}
			for f := survived; f < untried; f++ {
				if f.String() == fields[0] {
					kept[fields[1]] = verdict{nil, f, fields[2]}
				}
			}
			return nil
		})
	}
	for _, m := range list {
		v, ok := kept[m.key()]
		if v.mutant = m; ok {
			known = append(known, v)
		} else {
			rest = append(rest, m)
		}
	}
	return known, rest, err
}

// keep adds a verdict to the file, unless that has no name.
func keep(path string, v verdict) error {
	if path == "" || v.fate == untried {
		return nil
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644) //nolint:gosec // the user names it
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%s\t%s\t%s\n", v.fate, v.key(), v.by)
	return errors.Join(err, f.Close())
}

// find is the mutant of a key, which ends in a blank where nothing is put in place of what is
// left out: lines of files do not.
func find(all []*mutant, key string) *mutant {
	for _, m := range all {
		if strings.TrimRight(m.key(), " ") == key {
			return m
		}
	}
	return nil
}

// lines hands out those of a file that are not empty and no remarks. A file that is not
// there has none.
func lines(path string, each func(string) error) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	for n := 1; s.Scan(); n++ {
		if line := strings.TrimRight(s.Text(), " "); line != "" && !strings.HasPrefix(line, "#") {
			if err := each(line); err != nil {
				return fmt.Errorf("%s:%d: %w", path, n, err)
			}
		}
	}
	return s.Err()
}
